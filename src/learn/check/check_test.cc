// Tables of rows, findings as they read, and repaired files; the findings themselves are in
// tests/runs/check.run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "base/store/temporary_folder.h"
#include "learn/check/check_model.h"
#include "learn/check/finding.h"
#include "learn/check/fix_text.h"
#include "learn/check/row_table.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

TEST(RowTable, CountsCopiesAndKeepsThemTogetherInASample) {
  RowTable all, some(100);
  for (int64_t i = 0; i < 30000; ++i) {
    const std::string text = fmt::format("row {}", i % 10000);  // each three times
    all.add(text, false, {0, i + 1});
    some.add(text, i % 2 == 1, {0, i + 1});
  }
  EXPECT_EQ(all.entries().size(), 10000u);
  EXPECT_EQ(all.share(), 1);
  for (const auto& [hash, entry] : all.entries()) {
    EXPECT_EQ(entry.count[0], 3);
    EXPECT_EQ(entry.again.line, entry.first[0].line + 10000);
  }
  EXPECT_LE(some.entries().size(), 100u);
  EXPECT_LT(some.share(), 0.02);
  int64_t rows = 0;
  for (const auto& [hash, entry] : some.entries()) {
    EXPECT_EQ(entry.count[0] + entry.count[1], 3);
    rows += 3;
  }
  EXPECT_NEAR(static_cast<double>(rows) / some.share(), 30000, 10000);
}

TEST(Findings, ReadAsErrorsDo) {
  Findings f;
  f.add(FindingLevel::kNote, "few_steps", "the run has 3 steps");
  EXPECT_FALSE(f.passed(Error({"H9999", ""}, "no").at("x:1").todo("yes")));
  EXPECT_TRUE(f.passed(Ok{}));
  EXPECT_EQ(f.text(false),
            "error   H9999: no\n  at   x:1\n  do   yes\nnote    few_steps: the run has 3 steps\n");
  EXPECT_THAT(f.text(true), HasSubstr("\x1b[1;31merror  \x1b[0m"));
  EXPECT_EQ(f.count(FindingLevel::kError), 1);
  EXPECT_EQ(f.json()[0]["level"], "note");
}

// A head that a checkpoint lacks is made when the task begins; a body that it lacks is a fault.
TEST(CheckModel, ANewHeadIsNoError) {
  const fs::path folder =
      fs::path(HONE_SOURCE_DIR) / "tests/goldens/encoders/bert_sequence_classification";
  OpenOptions weights_alone;
  weights_alone.need_tokenizer = false;
  auto model = open_pretrained(folder, weights_alone);
  ASSERT_TRUE(model.ok()) << model.error().text();
  ASSERT_TRUE(set_head(model->config, Head::masked_lm).ok());
  Findings head;
  check_model(*model, head);
  EXPECT_EQ(head.count(FindingLevel::kError), 0) << head.text(false);
  EXPECT_THAT(head.text(false), HasSubstr("new_head: the checkpoint has no head"));

  model->config.config["num_hidden_layers"] = model->config.layers += 1;
  Findings body;
  check_model(*model, body);
  EXPECT_GT(body.count(FindingLevel::kError), 0);
}

class FixText : public ::testing::Test {
 protected:
  // Returns the cleaned copy of `bytes`.
  std::string fix(const std::string& bytes, Charset encoding = Charset::kUtf8) {
    const std::string from = folder_ / "in.txt", to = folder_ / "out.txt";
    EXPECT_TRUE(file_store().write(from, bytes).ok());
    Result<FixReport> report = fix_text(from, to, encoding);
    error_ = report.ok() ? "" : report.error().text();
    if (!report.ok()) return "";
    report_ = *report;
    return *file_store().read(to);
  }
  TemporaryFolder temporary_;
  const fs::path folder_ = temporary_.path;
  FixReport report_;
  std::string error_;
};

TEST_F(FixText, KeepsWhatIsCleanAndRepairsTheRest) {
  EXPECT_EQ(fix("a\r\nb\rc\n\n"), "a\r\nb\rc\n\n");
  EXPECT_EQ(report_.repaired + report_.lost, 0);
  EXPECT_EQ(fix(""), "");
  EXPECT_EQ(fix("\xEF\xBB\xBFx"), "x");
  EXPECT_TRUE(report_.byte_order_mark);
  EXPECT_EQ(fix("ok\ncaf\xe9, \xc3\xa9 \x81"), "ok\ncafé, é \xEF\xBF\xBD");
  EXPECT_EQ(report_.repaired, 1);
  EXPECT_EQ(report_.lost, 1);
  EXPECT_THAT(report_.places[0], HasSubstr("in.txt:2:4"));
  EXPECT_THAT(report_.places[1], HasSubstr("in.txt:2:10"));
  EXPECT_EQ(fix(std::string("\xFF\xFE\xE9\0\r\0\n\0", 8)), "é\r\n");
  EXPECT_EQ(report_.encoding, "utf-16");
  EXPECT_EQ(fix(std::string("\0a\0b", 4)), "ab");
  EXPECT_EQ(report_.encoding, "utf-16-be");
  EXPECT_EQ(fix("\x80", Charset::kCp1252), "€");
  fs::remove(folder_ / "out.txt");
  EXPECT_EQ(fix("a\n\x81", Charset::kCp1252), "");
  EXPECT_THAT(error_, HasSubstr("H2108  byte 0x81 is not a character of cp1252 text"));
  EXPECT_EQ(fix(std::string("\xFF\xFE\0\0a\0\0\0", 8)), "");
  EXPECT_THAT(error_, HasSubstr("the text is UTF-32"));
  EXPECT_FALSE(fs::exists(folder_ / "out.txt")) << "nothing half done is left";
}

}  // namespace
}  // namespace hone
