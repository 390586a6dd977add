"""Numba's compiler for kernels that make no array, without what these do not need.

Such a kernel then compiles in two thirds of the time, and runs as fast.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager

from lastswitch._brackets import PlainBrackets

#: What has nothing to do in kernels without closures, `None`, lists of literals, sums of arrays and
#: exceptions, and whose variables keep one type throughout.
NEEDLESS = frozenset(
    {
        "DeadBranchPrune",
        "FindLiterallyCalls",
        "InlineClosureLikes",
        "InlineOverloads",
        "IRLegalization",
        "LiteralPropagationSubPipelinePass",
        "LiteralUnroll",
        "MakeFunctionToJitFunction",
        "NopythonRewrites",
        "PreLowerStripPhis",
        "ReconstructSSA",
        "RewriteDynamicRaises",
        "WithLifting",
    }
)


class PlainCompiler(CompilerBase):
    """Numba's compiler without its :data:`NEEDLESS` passes, reading brackets plainly."""

    def define_pipelines(self) -> list[PassManager]:
        plain = PassManager("plain")
        for made, told in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if made.__name__ == "NopythonTypeInference":
                plain.add_pass(PlainBrackets, "brackets become calls")
            if made.__name__ not in NEEDLESS:
                plain.add_pass(made, told)
        plain.finalize()
        if self.state.library is None:
            codegen = self.state.targetctx.codegen()
            name = self.state.func_id.func_qualname
            self.state.library = PlainLibrary(codegen, name)  # type: ignore[no-untyped-call]
            self.state.library.enable_object_caching()  # so that it can be kept on disk
        return [plain]


class PlainLibrary(JITCodeLibrary):
    """What a kernel compiles to, optimised once: there are no references to prune in between."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave it to the next step, which looks at all functions again."""
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        """Optimise all functions together; what Numba's third level adds, kernels do not use."""
        passes, builder = self._codegen._module_pass_manager(opt=2)
        passes.run(self._final_module, builder)
