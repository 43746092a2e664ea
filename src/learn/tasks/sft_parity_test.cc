// Rows of instructions as trl sft makes them: tokens and labels of each case (tests/goldens/sft,
// made again by tools/golden_sft.py; tests/runs/sft.run compares ten losses), and what cannot be
// learnt.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/core/text.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"
#include "learn/data/rows/token_rows.h"
#include "learn/tasks/sft_encode.h"
#include "learn/tokenizers/load/load.h"

namespace hone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
const std::string kSft = std::string(HONE_SOURCE_DIR) + "/tests/goldens/sft/";

Tokenizer tokenizer() { return load_tokenizer(kSft + "model").value(); }

InstructionEncoder encoder(const std::string& chat_template, const InstructionOptions& options) {
  return InstructionEncoder::make(tokenizer(), chat_template, "", options).value();
}

std::vector<InstructionRow> rows_of(const OrderedJson& rows) {
  const TemporaryFolder folder;
  std::ofstream file(folder.path + "/rows.jsonl");
  for (const OrderedJson& row : rows) file << dump_json(row) << "\n";
  file.close();
  InstructionReader reader =
      std::move(InstructionReader::open({folder.path + "/rows.jsonl"}, {}, "text").value());
  std::vector<InstructionRow> all;
  for (InstructionRow row; reader.next(row).value();) all.push_back(row);
  return all;
}

OrderedJson chat(std::initializer_list<std::pair<const char*, const char*>> messages) {
  OrderedJson list = OrderedJson::array();
  for (const auto& [role, content] : messages)
    list.push_back({{"role", role}, {"content", content}});
  return {{"messages", list}};
}

std::string error_of(const InstructionEncoder& e, const OrderedJson& row) {
  const auto made = e.encode(rows_of(OrderedJson::array({row}))[0]);
  return made.ok() ? "none" : made.error().text();
}

TEST(SftParity, TokensAndLabelsOfTrl) {
  const auto golden =
      parse_ordered_json(file_store().read(kSft + "golden.json").value(), "golden").value();
  ASSERT_GE(golden["cases"].size(), 12u);
  for (const OrderedJson& c : golden["cases"]) {
    SCOPED_TRACE(c["name"]);
    InstructionOptions options;
    const OrderedJson& s = c["settings"];
    if (s.contains("completion_only_loss"))
      options.completion_only_loss = s["completion_only_loss"];
    options.assistant_only_loss = s.value("assistant_only_loss", false);
    options.max_length = s.value("max_length", 1024);
    const std::string source =
        c["template"].is_null()
            ? tokenizer().chat_template()
            : file_store().read(kSft + c["template"].get<std::string>() + ".jinja").value();
    const InstructionEncoder e = encoder(source, options);
    const std::vector<InstructionRow> rows = rows_of(c["rows"]);
    ASSERT_EQ(rows.size(), c["ids"].size());
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto made = e.encode(rows[i]);
      ASSERT_TRUE(made.ok()) << made.error().text();
      EXPECT_EQ(made->ids, c["ids"][i].get<std::vector<int32_t>>()) << "row " << i;
      EXPECT_EQ(made->labels, c["labels"][i].get<std::vector<int32_t>>()) << "row " << i;
    }
  }
}

TEST(SftEncode, TakesAlpacaWithAndWithoutATemplate) {
  const InstructionRow row =
      rows_of(OrderedJson::array({{{"instruction", "one"}, {"input", ""}, {"output", "two"}}}))[0];
  const Tokenizer t = tokenizer();
  const auto plain = encoder("", {}).encode(row).value();
  EXPECT_THAT(
      t.decode(plain.ids),
      AllOf(::testing::StartsWith("Below is an instruction"),
            ::testing::EndsWith("### Instruction:\none\n\n### Response:\ntwo<|endoftext|>")));
  const auto with = encoder(t.chat_template(), {}).encode(row).value();
  EXPECT_EQ(t.decode(with.ids),
            "<|im_start|>user\none<|im_end|>\n<|im_start|>assistant\ntwo<|im_end|>\n");
  std::vector<int32_t> learnt;
  for (const int32_t label : with.labels)
    if (label != kIgnoreLabel) learnt.push_back(label);
  EXPECT_EQ(t.decode(learnt), "two<|im_end|>\n");
}

TEST(SftEncode, SaysWhyAnswersCannotBeFound) {
  const OrderedJson talk =
      chat({{"user", "a"}, {"assistant", "b"}, {"user", "c"}, {"assistant", "d"}});
  EXPECT_THAT(error_of(encoder("", {}), talk),
              AllOf(HasSubstr("H2427"), HasSubstr("no chat template")));
  InstructionOptions answers;
  answers.assistant_only_loss = true;
  EXPECT_THAT(error_of(encoder("", answers), {{"text", "a"}}), HasSubstr("H2427"));
  // Each message says how many there are: no beginning of the text is that of fewer messages.
  EXPECT_THAT(
      error_of(encoder("{% for m in messages %}{{ messages | length }}{{ m.content }}{% endfor %}",
                       answers),
               talk),
      AllOf(HasSubstr("H2427"), HasSubstr("message 2")));
  EXPECT_THAT(error_of(encoder(tokenizer().chat_template(), answers), chat({{"user", "a"}})),
              HasSubstr("H2123"));
  EXPECT_THAT(error_of(encoder("{{ raise_exception('no system') }}", {}), talk),
              HasSubstr("H2912"));
}

}  // namespace
}  // namespace hone
