#include "base/core/log_wrap.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(LogWrap, LinesFitATerminal) {
  const std::string line =
      "evaluated   step 100: loss 2.1234, rouge1 31.210, rouge2 12.000, rougeL 24.100, gen len "
      "17.250; the best so far";
  EXPECT_EQ(wrap_line(line, 80),
            "evaluated   step 100: loss 2.1234, rouge1 31.210, rouge2 12.000, rougeL 24.100,\n"
            "            gen len 17.250; the best so far");
  EXPECT_EQ(wrap_line(line, line.size()), line);
  EXPECT_EQ(wrap_line(line, line.size() - 1),
            line.substr(0, line.find("; the") + 1) + "\n            the best so far");
  for (const char* other : {"no columns, and, much, longer, than, the, width, of, a, line",
                            "next        hone runs --output a, b, c, d, e, f, g, h, i, j, k, l, m",
                            "saved       a_name_without_any_place_to_break_it_in_two_parts_at_all"})
    EXPECT_EQ(wrap_line(other, 40), other);
}

TEST(LogWrap, WordsPartWhereCommasAreFar) {
  EXPECT_EQ(wrap_line("policy      the run's metric decides after the last step of all", 40),
            "policy      the run's metric decides\n"
            "            after the last step of all");
  EXPECT_EQ(wrap_line("a, b        cd, and a long text that has no other comma", 40),
            "a, b        cd, and a long text that has\n"
            "            no other comma");
  EXPECT_EQ(wrap_line("left out    status, reason: see them with --wide, --csv or --json", 40),
            "left out    status, reason: see them\n"
            "            with --wide, --csv or --json");
  EXPECT_EQ(wrap_line("read        the rows of 'a folder with blanks, and commas' today", 40),
            "read        the rows of\n"
            "            'a folder with blanks, and commas'\n"
            "            today");
  EXPECT_EQ(
      wrap_line("policy      must be better; a block \"policy\" sets another metric and a floor",
                40),
      "policy      must be better;\n"
      "            a block \"policy\" sets\n"
      "            another metric and a floor");
  EXPECT_EQ(
      wrap_line("batch       8 rows here: \"train\": {\"a\": 4, \"b\": 5} gives the same", 40),
      "batch       8 rows here:\n"
      "            \"train\": {\"a\": 4, \"b\": 5}\n"
      "            gives the same");
  EXPECT_EQ(wrap_line("run         first-of-all-runs  file:///a/long/folder/of/runs", 40),
            "run         first-of-all-runs\n"
            "            file:///a/long/folder/of/runs");
  EXPECT_EQ(wrap_line("written     a.json: curl -d '{1, 2, 3}' http://host, and more words", 40),
            "written     a.json:\n"
            "            curl -d '{1, 2, 3}' http://host, and more words");
  EXPECT_EQ(wrap_line("stop        it again with hone endpoints stop news --registry a.db", 40),
            "stop        it again with\n"
            "            hone endpoints stop news --registry a.db");
}

TEST(LogWrap, ErrorsFitATerminal) {
  const std::string text =
      "H3144  the metric 'acuracy' is not one of this task\n"
      "  at   a/very/long/path of the/users/own/file.json: policy.metric\n"
      "  do   did you mean accuracy? the metrics are loss, accuracy, f1; "
      "hone help metrics says what they are";
  EXPECT_EQ(wrap_error(text, 40),
            "H3144  the metric 'acuracy' is not one\n"
            "       of this task\n"
            "  at   a/very/long/path of the/users/own/file.json: policy.metric\n"
            "  do   did you mean accuracy? the\n"
            "       metrics are loss, accuracy, f1;\n"
            "       hone help metrics says what they are");
  EXPECT_EQ(wrap_error(text, 0), text);
  EXPECT_EQ(
      wrap_error("H3301  no\n  at   a folder/with blanks/x.csv; its first line looks like a row",
                 40),
      "H3301  no\n"
      "  at   a folder/with blanks/x.csv;\n"
      "       its first line looks like a row");
  EXPECT_EQ(wrap_text("runs have values of different rows, so none of them is the best", 40),
            "runs have values of different rows,\n"
            "so none of them is the best");
}

TEST(LogWrap, ReportsFitATerminal) {
  const std::string text =
      "m: 10 parameters, rows of 512 tokens, 64 rows in a step of 8 ranks\n"
      "  arena             6.3 GiB  (budget of code and data)\n"
      "    8     8.9 GiB      0.26   92%  data=8, ZeRO stage 0, --gradient_checkpointing\n"
      "short\n";
  EXPECT_EQ(wrap_report(text, 60),
            "m: 10 parameters, rows of 512 tokens,\n"
            "  64 rows in a step of 8 ranks\n"
            "  arena             6.3 GiB  (budget of code and data)\n"
            "    8     8.9 GiB      0.26   92%  data=8, ZeRO stage 0,\n"
            "                                   --gradient_checkpointing\n"
            "short\n");
  EXPECT_EQ(wrap_report(text, 0), text);
}

}  // namespace
}  // namespace hone
