# Counts tests from ctest's LastTest.log and then its terminal output: each row of a cmocka program
# is one test, any other program is one; a program that died without its summary is one that failed.
function finish_program() {
    if (!inside) return
    if (died && !rows_failed) rows_failed = 1
    if (!died && !rows_passed) rows_passed = 1
    passed += rows_passed
    failed += rows_failed
    inside = 0
}
/^[0-9]+\/[0-9]+ Testing: / {
    finish_program()
    inside = 1
    rows_passed = rows_failed = died = 0
}
/^\[  PASSED  \] [0-9]+ test\(s\)/ { rows_passed += $4 }
/^\[  FAILED  \] [0-9]+ test\(s\)/ { rows_failed += $4 }
/^\[  SKIPPED \] [0-9]+ test\(s\)/ { skipped += $4 }
/^Test Failed\./ { died = 1 }
# In the log these two read as if they had passed.
/ Test +#[0-9]+: .*\*\*\*Skipped/ { passed--; skipped++ }
/ Test +#[0-9]+: .*\*\*\*Not Run/ { passed--; failed++ }
END {
    finish_program()
    if (skipped) printf "%d skipped\n", skipped
    printf "%d passed, %d failed\n", passed, failed
}
