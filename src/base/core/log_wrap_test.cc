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
                            "written     a.json: curl -d '{1, 2, 3}' http://host, and more words",
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
  EXPECT_EQ(wrap_line("stop        it again with hone endpoints stop news --registry a.db", 40),
            "stop        it again with\n"
            "            hone endpoints stop news --registry a.db");
}

}  // namespace
}  // namespace hone
