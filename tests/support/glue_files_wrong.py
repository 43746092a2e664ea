rows = ["index\tsentence1\tsentence2\tlabel", "0\tA dog runs.\tAn animal moves.\tentailment", "1\tA dog runs.\tIt sleeps.\tno_entailment"]
open("RTE/wrong.tsv", "w").write("\n".join(rows) + "\n")
open("RTE/columns.tsv", "w").write("a\tb\tc\nx\ty\t1\n")
