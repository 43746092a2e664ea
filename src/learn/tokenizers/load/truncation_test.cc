// Truncated texts and pairs against Transformers' fast tokenizers: tools/golden_truncation.py.
#include "learn/tokenizers/load/test_helpers.h"

namespace hone {
namespace {

using nlohmann::json;

const json& truncation_golden() {
  static const json g = json::parse(read(goldens() / "truncation.json"));
  return g;
}

void expect_golden(const Tokenizer& t, const json& want) {
  const auto texts =
      random_texts(truncation_golden()["parts"], truncation_golden()["count"].get<int>(),
                   truncation_golden()["seed"].get<uint64_t>());
  for (const bool left : {false, true}) {
    std::vector<std::vector<int32_t>> rows;
    for (const json& strategy : truncation_golden()["strategies"])
      for (const json& length : truncation_golden()["lengths"])
        for (const bool special : {true, false})
          for (size_t i = 0; i < texts.size(); ++i) {
            TruncateOptions cut = t.truncate_options(
                truncation_named(strategy.get<std::string>()).value(), length.get<int64_t>());
            cut.left = left;
            std::optional<std::string_view> pair;
            if (i % 3) pair = texts[(i + 1) % texts.size()];
            Encoding e;
            const Status done =
                t.encode_to(texts[i], pair, e, {.add_special_tokens = special}, cut);
            if (!done.ok()) {
              EXPECT_STREQ(done.error().code(), "H2008");
              rows.push_back({0x7ffffffd});
              continue;
            }
            rows.push_back(e.ids);
            rows.back().push_back(0x7ffffffe);
            rows.back().insert(rows.back().end(), e.type_ids.begin(), e.type_ids.end());
          }
    EXPECT_EQ(fnv_rows(rows), want[left ? "left" : "right"].get<std::string>());
  }
}

TEST(Truncation, CutsAsTransformers) {
  const json cases = json::parse(read(goldens() / "cases.json"));
  const json mini = json::parse(read(goldens() / "mini.json"));
  json vocab = json::object();
  for (size_t i = 0; i < mini["tokens"].size(); ++i)
    vocab[mini["tokens"][i].get<std::string>()] = i;
  for (const auto& [name, want] : truncation_golden()["small"].items()) {
    SCOPED_TRACE(name);
    if (name == "wordpiece") {
      expect_golden(must(load_tokenizer((goldens() / "wordpiece.txt").string())), want);
      continue;
    }
    json spec = cases["pipelines"][name]["spec"];
    spec["model"] = cases["pipelines"][name]["model"];
    spec["model"]["vocab"] = vocab;
    spec["model"]["merges"] = mini["merges"];
    expect_golden(must(Tokenizer::make(must(read_tokenizer_json(spec.dump(), name, {})))), want);
  }
}

TEST(Truncation, CutsAsTransformersWithRealTokenizers) {
  if (!std::filesystem::exists(data_folder() / "tok-bert-uncased"))
    GTEST_SKIP() << "no data folder " << data_folder();
  for (const auto& [name, want] : truncation_golden()["real"].items()) {
    SCOPED_TRACE(name);
    const auto folder = data_folder() / name;
    if (name == "tok-roberta") {  // its folder does not say so
      TokenizerConfig config;
      config.tokenizer_class = "RobertaTokenizer";
      expect_golden(
          must(Tokenizer::make(must(read_vocab_merges((folder / "vocab.json").string(),
                                                      (folder / "merges.txt").string(), config)))),
          want);
      continue;
    }
    expect_golden(must(load_tokenizer(folder.string())), want);
  }
}

TEST(Truncation, SaysWhyItCannotCut) {
  const auto what = [](int64_t first, std::optional<int64_t> second, int64_t special,
                       Truncation strategy, int64_t length) {
    const auto kept = kept_lengths(first, second, special, {strategy, length, false});
    return kept.ok() ? fmt::format("{} {}", kept->first, kept->second) : kept.error().what();
  };
  using enum Truncation;
  EXPECT_EQ(what(9, 4, 3, longest_first, 10), "4 3");
  EXPECT_EQ(what(9, 4, 3, longest_first, 3), "0 0");
  EXPECT_EQ(what(9, 4, 3, do_not_truncate, 1), "9 4");
  for (const Truncation strategy : {longest_first, only_first, only_second}) {
    EXPECT_EQ(what(9, 4, 3, strategy, 2),
              "max_length 2 is less than the 3 special tokens around the pair");
    EXPECT_EQ(what(0, std::nullopt, 2, strategy, 1),
              "max_length 1 is less than the 2 special tokens around the text");
    EXPECT_EQ(what(9, 4, 0, strategy, 0), "0 0");
  }
  EXPECT_EQ(what(3, 9, 3, only_first, 10),
            "only_first cannot cut a pair of 3 and 9 tokens to max_length 10");
  EXPECT_EQ(what(3, 9, 3, only_second, 10), "3 4");
  EXPECT_EQ(what(30, std::nullopt, 2, only_second, 10),
            "only_second is to cut 32 tokens to 10, but there is one text");
}

}  // namespace
}  // namespace hone
