"""Integer and linear programs, solved by HiGHS: the paper's, and flows under rules."""
