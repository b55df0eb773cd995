(* What the theorems assume: "Closed under the global context" says no axiom. *)

From jaxcert Require Import law coins certificate attained suite each_task.

Print Assumptions Pr_count.
Print Assumptions at_most_nseq.
Print Assumptions binomial_at_most_le.
Print Assumptions thinning.
Print Assumptions few_violations.
Print Assumptions certificate_unequal.
Print Assumptions certificate_checked.
Print Assumptions binomial_certificate.
Print Assumptions worst_case.
Print Assumptions cannot_be_improved.
Print Assumptions clopper_pearson_is_limit.
Print Assumptions clopper_pearson_certificate.
Print Assumptions safety_level_certificate.
Print Assumptions bad_passes_at_tau.
Print Assumptions attained_certificate.
Print Assumptions several_levels_certificate.
Print Assumptions suite_certificate.
Print Assumptions suite_equal_levels.
Print Assumptions suite_several_levels.
Print Assumptions each_task_certificate.
