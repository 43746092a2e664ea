// Numbers of rouge-score, sacreBLEU, scikit-learn and scipy (tests/goldens/metrics, made again by
// tools/golden_metrics.py).
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/core/philox.h"
#include "base/core/text.h"
#include "base/store/unpack.h"
#include "learn/metrics/bootstrap.h"
#include "learn/metrics/characters.h"
#include "learn/metrics/metric.h"
#include "learn/metrics/porter.h"
#include "learn/metrics/rouge_score.h"
#include "learn/metrics/sentences.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

fs::path goldens() { return fs::path(HONE_SOURCE_DIR) / "tests/goldens/metrics"; }
fs::path data_folder() {
  const char* set = std::getenv("HONE_DATA");
  return set != nullptr ? fs::path(set) : fs::path(HONE_SOURCE_DIR) / "../shared/data";
}
Json golden(const char* name) {
  auto json = read_json_file(goldens() / name);
  if (!json.ok()) throw std::runtime_error(json.error().text());
  return *json;
}

std::unique_ptr<Metric> make(const std::string& name, const MetricOptions& options = {}) {
  auto metric = make_metric(name, options);
  if (!metric.ok()) throw std::runtime_error(metric.error().text());
  return std::move(metric).value();
}
double value(const Metric& metric, const std::string& name) {
  const auto values = metric.values();
  if (!values.ok()) throw std::runtime_error(values.error().text());
  for (const MetricValue& v : *values) {
    if (v.name == name) return v.value;
  }
  throw std::runtime_error("no value " + name);
}
std::vector<double> all_values(const Metric& metric) {
  std::vector<double> all;
  const auto values = metric.values();
  if (!values.ok()) throw std::runtime_error(values.error().text());
  for (const MetricValue& v : *values) all.push_back(v.value);
  return all;
}

void add(Metric& metric, const std::string& prediction, const Json& references) {
  std::vector<std::string> texts;
  for (const Json& r : references) texts.push_back(r.get<std::string>());
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  metric.add_text(prediction, views);
}

TEST(Porter, StemsAsNltk) {
  std::ifstream in(goldens() / "stems.txt");
  std::string word, stem;
  int words = 0;
  for (; in >> word >> stem; ++words) {
    std::string mine = word;
    porter_stem(mine);
    EXPECT_EQ(mine, stem) << word;
  }
  EXPECT_GT(words, 700);
}

TEST(Rouge, EveryPairAsRougeScore) {
  RougeScorer stemmed(true), plain(false);
  const Json file = golden("rouge.json");
  for (const Json& c : file["cases"]) {
    const auto prediction = c["prediction"].get<std::string>(),
               reference = c["reference"].get<std::string>();
    const auto s = stemmed.score(prediction, reference), p = plain.score(prediction, reference);
    for (size_t t = 0; t < kRougeTypes; ++t) {
      SCOPED_TRACE(fmt::format("type {} of {} | {}", t, prediction, reference));
      EXPECT_EQ(s[t].precision, c["stemmed"][t][0].get<double>());
      EXPECT_EQ(s[t].recall, c["stemmed"][t][1].get<double>());
      EXPECT_EQ(s[t].fmeasure, c["stemmed"][t][2].get<double>());
      EXPECT_EQ(p[t].fmeasure, c["plain"][t].get<double>());
    }
  }
  const auto metric = make("rouge");
  for (const Json& prediction : file["predictions"])
    add(*metric, prediction.get<std::string>(), file["references"]);
  for (size_t t = 0; t < kRougeTypes; ++t)
    EXPECT_DOUBLE_EQ(all_values(*metric)[t], file["means"][t].get<double>());
}

TEST(Bleu, TokenizesAsSacrebleu) {
  const Json bleu = golden("bleu.json");
  for (const Json& line : bleu["lines"]) {
    for (size_t t = 0; t < bleu_tokenizer_names().size(); ++t) {
      const std::string name = bleu_tokenizer_names()[t];
      const auto text = line["line"].get<std::string>();
      const std::string tokenized = bleu_tokenized(text, static_cast<BleuTokenizer>(t));
      std::vector<std::string_view> words;
      split_words(tokenized, words);
      EXPECT_EQ(Json(words), line["tokens"][name]) << name << ": " << text;
    }
  }
}

void expect_translation_scores(const std::vector<std::string>& predictions, const Json& references,
                               const Json& scores) {
  for (const auto& [name, expected] : scores.items()) {
    SCOPED_TRACE(name);
    const bool is_chrf = name.starts_with("chrf");
    MetricOptions options;
    options.chrf_word_order = name == "chrf++" ? 2 : 0;
    for (size_t t = 0; t < bleu_tokenizer_names().size(); ++t) {
      if (bleu_tokenizer_names()[t] == name) options.bleu_tokenizer = static_cast<BleuTokenizer>(t);
    }
    const std::string type = is_chrf ? "chrf" : "bleu";
    const auto metric = make(type, options);
    for (size_t i = 0; i < predictions.size(); ++i) add(*metric, predictions[i], references[i]);
    EXPECT_NEAR(value(*metric, type), expected[type].get<double>(), 1e-11);
    const OrderedJson details = metric->details();
    EXPECT_EQ(details["signature"], expected["signature"]);
    if (is_chrf) continue;
    for (size_t n = 0; n < 4; ++n)
      EXPECT_DOUBLE_EQ(details["precisions"][n].get<double>(),
                       expected["precisions"][n].get<double>());
    EXPECT_DOUBLE_EQ(details["bp"].get<double>(), expected["bp"].get<double>());
    EXPECT_EQ(details["sys_len"], expected["sys_len"]);
    EXPECT_EQ(details["ref_len"], expected["ref_len"]);
  }
}

TEST(Bleu, AndChrfAsSacrebleu) {
  const Json bleu = golden("bleu.json");
  for (const Json& c : bleu["cases"])
    expect_translation_scores(c["predictions"].get<std::vector<std::string>>(), c["references"],
                              c["scores"]);
}

TEST(Labels, AsScikitLearn) {
  const Json labels = golden("labels.json");
  for (const Json& c : labels["labels"]) {
    const auto check = [&](const std::string& key, const std::string& name,
                           const MetricOptions& options) {
      const auto metric = make(name, options);
      for (size_t i = 0; i < c["predictions"].size(); ++i)
        metric->add_label(c["predictions"][i].get<int64_t>(), c["references"][i].get<int64_t>());
      EXPECT_NEAR(value(*metric, name), c[key].get<double>(), 1e-15) << key << " " << c.dump();
    };
    check("accuracy", "accuracy", {});
    check("matthews_correlation", "matthews_correlation", {});
    for (const char* average : {"binary", "macro", "micro", "weighted"}) {
      MetricOptions options;
      options.average = average;
      if (c.contains(average)) check(average, "f1", options);
    }
  }
}

TEST(Entities, AsSeqeval) {
  const Json cases = golden("entities.json");
  EXPECT_GT(cases.size(), 10u);
  for (const Json& c : cases) {
    const auto metric = make("seqeval");
    for (size_t i = 0; i < c["predictions"].size(); ++i)
      add(*metric, c["predictions"][i].get<std::string>(), Json::array({c["references"][i]}));
    for (const char* name : {"precision", "recall", "f1", "accuracy"})
      EXPECT_NEAR(value(*metric, name), c[name].get<double>(), 1e-15) << name << " " << c.dump();
    const Json types = Json::parse(metric->details().dump());
    EXPECT_EQ(types.size(), c["types"].size());
    for (const auto& [type, wanted] : c["types"].items())
      for (const auto& [name, number] : wanted.items())
        EXPECT_NEAR(types[type][name].get<double>(), number.get<double>(), 1e-15) << type;
  }
}

TEST(Entities, OfTextsThatDoNotPairAreAnError) {
  const auto metric = make("seqeval");
  add(*metric, "B-PER O", Json::array({"B-PER O O"}));
  ASSERT_FALSE(metric->values().ok());
  EXPECT_STREQ(metric->values().error().code(), "H2604");
  EXPECT_EQ(metric->values().error().where()[0], "example 1");
}

SentenceSplitter splitter(const Json& file) {
  const auto text = [&](const char* key) { return file[key].get<std::string>(); };
  auto made = SentenceSplitter::parse(text("abbrev_types"), text("collocations"),
                                      text("sent_starters"), text("ortho_context"), "golden");
  if (!made.ok()) throw std::runtime_error(made.error().text());
  return std::move(made).value();
}

TEST(Sentences, AsNltk) {
  const Json file = golden("sentences.json");
  const SentenceSplitter sentences = splitter(file);
  for (const Json& c : file["cases"]) {
    const auto text = c["text"].get<std::string>();
    EXPECT_EQ(Json(sentences.split(text)), c["sentences"]) << text;
  }
  EXPECT_GT(file["cases"].size(), 150);
}

TEST(Sentences, AreWhatRougeLsumComparesByOption) {
  const SentenceSplitter sentences = splitter(golden("sentences.json"));
  MetricOptions options;
  options.sentences = &sentences;
  const auto by_sentence = make("rouge", options), by_line = make("rouge");
  const Json reference = {"We ate. The dog barked."};
  for (Metric* metric : {by_sentence.get(), by_line.get()})
    add(*metric, "The dog barked. We ate.", reference);
  EXPECT_EQ(value(*by_sentence, "rougeLsum"), 1);
  EXPECT_DOUBLE_EQ(value(*by_line, "rougeLsum"), 0.6);
  EXPECT_DOUBLE_EQ(value(*by_sentence, "rougeL"), 0.6);
}

TEST(Sentences, DataThatIsMissingOrDamagedIsAnError) {
  const auto damaged = SentenceSplitter::parse("dr\n", "a\tb\nc\n", "", "", "folder");
  ASSERT_FALSE(damaged.ok());
  EXPECT_STREQ(damaged.error().code(), "H2603");
  EXPECT_EQ(damaged.error().where()[0], "folder/collocations.tab:2");
  EXPECT_FALSE(SentenceSplitter::parse("", "", "", "the\t3x\n", "folder").ok());
  EXPECT_FALSE(SentenceSplitter::parse("", "", "", "the\n", "folder").ok());
  const auto missing = find_punkt_folder("/no/such/folder");
  ASSERT_FALSE(missing.ok());
  EXPECT_STREQ(missing.error().code(), "H2603");
}

TEST(Labels, BinaryF1WithoutItsPositiveClassIsAnError) {
  MetricOptions options;
  options.positive_label = 7;
  const auto f1 = make("f1", options);
  f1->add_label(0, 0);
  EXPECT_EQ(value(*f1, "f1"), 0);  // one class: scikit-learn takes it for the negative one
  f1->add_label(1, 0);
  ASSERT_FALSE(f1->values().ok());
  EXPECT_STREQ(f1->values().error().code(), "H2602");
}

TEST(Labels, BinaryF1OfThreeClassesIsAnError) {
  const auto f1 = make("f1");
  for (int i = 0; i < 3; ++i) f1->add_label(i, i);
  const auto values = f1->values();
  ASSERT_FALSE(values.ok());
  EXPECT_STREQ(values.error().code(), "H2602");
  EXPECT_NE(values.error().remedy().find("macro"), std::string::npos);
}

TEST(Numbers, AsScipy) {
  const Json labels = golden("labels.json");
  for (const Json& c : labels["numbers"]) {
    for (const char* name : {"pearson", "spearmanr"}) {
      const auto metric = make(name);
      for (size_t i = 0; i < c["predictions"].size(); ++i)
        metric->add_number(c["predictions"][i].get<double>(), c["references"][i].get<double>());
      // scipy centres in double precision: far from zero it is the one that loses digits.
      EXPECT_NEAR(value(*metric, name), c[name].get<double>(), 1e-9) << name;
      if (std::abs(c["references"][0].get<double>()) < 1e3) {
        EXPECT_NEAR(value(*metric, name), c[name].get<double>(), 1e-14) << name;
      }
    }
  }
}

TEST(Numbers, WithoutSpreadOrWithNanAreNan) {
  for (const char* name : {"pearson", "spearmanr"}) {
    const auto constant = make(name), with_nan = make(name), none = make(name);
    for (int i = 0; i < 5; ++i) {
      constant->add_number(0.1, i);
      with_nan->add_number(i == 2 ? std::nan("") : i, i);
    }
    EXPECT_TRUE(std::isnan(value(*constant, name)));
    EXPECT_TRUE(std::isnan(value(*with_nan, name)));
    EXPECT_TRUE(std::isnan(value(*none, name)));
  }
}

TEST(Metrics, WithoutExamplesAreNan) {
  for (const MetricType& type : all_metric()) {
    for (const double v : all_values(*make(type.name))) EXPECT_TRUE(std::isnan(v)) << type.name;
  }
}

TEST(Metrics, AreFoundByNameAndByGlueTask) {
  EXPECT_EQ(find_metric("sacrebleu")->name, "bleu");
  EXPECT_EQ(find_metric("pearsonr")->name, "pearson");
  const auto wrong = find_metric("acuracy");
  ASSERT_FALSE(wrong.ok());
  EXPECT_STREQ(wrong.error().code(), "H2601");
  EXPECT_NE(wrong.error().remedy().find("did you mean 'accuracy'"), std::string::npos);
  for (const char* task : {"cola", "sst2", "mrpc", "stsb", "qqp", "mnli", "mnli_matched", "qnli"}) {
    EXPECT_FALSE(glue_metrics(task).empty()) << task;
    for (const std::string& name : glue_metrics(task)) EXPECT_TRUE(find_metric(name).ok()) << name;
  }
  EXPECT_EQ(glue_metrics("stsb"), (std::vector<std::string>{"pearson", "spearmanr"}));
  EXPECT_EQ(glue_metrics("imdb"), std::vector<std::string>{});
}

// Example i of any metric.
void add_example(Metric& metric, MetricInput input, int i) {
  static const std::vector<std::string> texts = {"the cat sat", "a dog sat here", "the the cat",
                                                 ""};
  const auto text = [&](int k) -> std::string_view { return texts[static_cast<size_t>(k % 4)]; };
  if (input == MetricInput::kLabel) metric.add_label(i % 3 == 0, i % 2);
  if (input == MetricInput::kNumber) metric.add_number(i * i % 7, i % 5);
  const std::string_view references[] = {text(i * 3 + i / 4), text(i + 1)};
  if (input == MetricInput::kText) metric.add_text(text(i), references);
  static const std::vector<std::string_view> tags = {"B-X I-X O", "O B-X O", "B-Y B-X I-X"};
  const size_t n = static_cast<size_t>(i);
  if (input == MetricInput::kTags) metric.add_text(tags[n % 3], std::span(&tags[n / 2 % 3], 1));
}

TEST(Metrics, OfChosenExamplesAreThoseOfTheExamplesAdded) {
  const std::vector<int32_t> times = {1, 0, 3, 2, 0, 1, 1, 4};
  for (const MetricType& type : all_metric()) {
    MetricOptions options;
    options.keep_examples = true;
    const auto all = make(type.name, options), chosen = make(type.name);
    for (int i = 0; i < 8; ++i) {
      add_example(*all, type.input, i);
      for (int k = 0; k < times[static_cast<size_t>(i)]; ++k) add_example(*chosen, type.input, i);
    }
    const auto values = all->values_of(times);
    ASSERT_TRUE(values.ok()) << type.name;
    for (size_t k = 0; k < values->size(); ++k)
      EXPECT_DOUBLE_EQ((*values)[k].value, all_values(*chosen)[k]) << type.name;
    EXPECT_EQ(all->examples(), 8);
  }
}

TEST(Bootstrap, OfAShareIsNearItsNormalApproximation) {
  MetricOptions options;
  options.keep_examples = true;
  const auto accuracy = make("accuracy", options);
  for (int i = 0; i < 1000; ++i) accuracy->add_label(i % 5 == 0, 0);  // 0.8
  const auto intervals = bootstrap(*accuracy, {.samples = 2000});
  ASSERT_TRUE(intervals.ok());
  const double half = 1.96 * std::sqrt(0.8 * 0.2 / 1000);
  EXPECT_NEAR((*intervals)[0].low, 0.8 - half, 0.003);
  EXPECT_NEAR((*intervals)[0].high, 0.8 + half, 0.003);

  const auto same = bootstrap(*accuracy, {.samples = 2000});
  EXPECT_EQ((*same)[0].low, (*intervals)[0].low);
  const auto other = bootstrap(*accuracy, {.samples = 2000, .seed = 43});
  EXPECT_NE(std::pair((*other)[0].low, (*other)[0].high),
            std::pair((*intervals)[0].low, (*intervals)[0].high));
  const auto narrow = bootstrap(*accuracy, {.samples = 2000, .confidence = 0.5});
  EXPECT_LT((*narrow)[0].high - (*narrow)[0].low, half);
}

TEST(Bootstrap, LeavesOutSamplesWithoutAValue) {
  MetricOptions options;
  options.keep_examples = true;
  const auto pearson = make("pearson", options);
  pearson->add_number(1, 1);
  pearson->add_number(2, 2);
  const auto intervals = bootstrap(*pearson);  // half of the samples are one pair twice
  EXPECT_EQ((*intervals)[0].low, 1);
  EXPECT_EQ((*intervals)[0].high, 1);
}

TEST(RealText, SummariesAsRougeScore) {
  const fs::path file = data_folder() / "scitldr/test.jsonl";
  if (!fs::exists(file)) GTEST_SKIP() << "no scitldr in HONE_DATA " << data_folder();
  const Json expected = golden("real.json");
  const auto one = make("rouge"), many = make("rouge"), whole = make("rouge");
  std::ifstream in(file);
  int64_t row = 0;
  const auto lines = [](const Json& source, size_t step, size_t most) {
    std::string text;
    for (size_t i = 0; i < source.size() && i < most; i += step)
      text += (i > 0 ? "\n" : "") + source[i].get<std::string>();
    return text;
  };
  for (std::string line; std::getline(in, line); ++row) {
    const Json j = *parse_json(line, "test.jsonl");
    add(*one, lines(j["source"], 1, 2), Json::array({j["target"][0]}));
    add(*many, lines(j["source"], 1, 2), j["target"]);
    if (row >= 100) continue;
    add(*whole, lines(j["source"], 2, 10000), Json::array({lines(j["source"], 1, 10000)}));
    if (row >= 5) continue;
    const auto first = make("rouge");
    add(*first, lines(j["source"], 1, 2), Json::array({j["target"][0]}));
    EXPECT_EQ(Json(all_values(*first)), expected["scitldr_one"]["first"][static_cast<size_t>(row)]);
  }
  EXPECT_EQ(row, 618);
  for (const auto& [name, metric] :
       {std::pair("scitldr_one", one.get()), std::pair("scitldr_many", many.get()),
        std::pair("scitldr_whole", whole.get())}) {
    for (size_t t = 0; t < kRougeTypes; ++t)
      EXPECT_NEAR(all_values(*metric)[t], expected[name]["means"][t].get<double>(), 1e-14) << name;
  }
}

TEST(RealText, SentencesAsNltk) {
  const fs::path file = data_folder() / "scitldr/test.jsonl", punkt = data_folder() / "punkt-en";
  if (!fs::exists(file) || !fs::exists(punkt))
    GTEST_SKIP() << "no scitldr or punkt-en in HONE_DATA " << data_folder();
  const auto folder = find_punkt_folder(punkt);
  ASSERT_TRUE(folder.ok());
  const auto sentences = SentenceSplitter::load(*folder);
  ASSERT_TRUE(sentences.ok());
  MetricOptions options;
  options.sentences = &*sentences;
  const auto rouge = make("rouge", options);
  std::string all;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const Json j = *parse_json(line, "test.jsonl");
    std::string text;
    for (const Json& s : j["source"]) text += (text.empty() ? "" : " ") + s.get<std::string>();
    all += (all.empty() ? "" : "\n") + sentences->lines(text);
    add(*rouge, text, Json::array({j["target"][0]}));
  }
  const Json expected = golden("real.json")["scitldr_sentences"];
  EXPECT_EQ(std::count(all.begin(), all.end(), '\n') + 1, expected["lines"].get<int64_t>());
  EXPECT_EQ(std::to_string(scope_hash(all)), expected["fnv"].get<std::string>());
  EXPECT_NEAR(value(*rouge, "rougeLsum"), expected["rougeLsum"].get<double>(), 1e-14);
}

TEST(RealText, TranslationsAsSacrebleu) {
  const fs::path file = data_folder() / "multi30k/test_2016_flickr.de.gz";
  if (!fs::exists(file)) GTEST_SKIP() << "no multi30k in HONE_DATA " << data_folder();
  std::ifstream in(file, std::ios::binary);
  Unpacker unpacker(Packing::kGzip, file, [&](char* to, int64_t size) -> Result<int64_t> {
    in.read(to, size);
    return in.gcount();
  });
  std::string text(1 << 20, 0);
  size_t size = 0;
  for (int64_t n = 1; n > 0; size += static_cast<size_t>(n)) {
    const auto got = unpacker.read(text.data() + size, static_cast<int64_t>(text.size() - size));
    ASSERT_TRUE(got.ok());
    n = *got;
  }
  text.resize(size);
  std::vector<std::string> predictions;
  Json references = Json::array();
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    references.push_back({line});
    const std::vector<std::string> words = split(line, ' ');
    std::string kept;
    for (size_t i = 0; i < words.size(); ++i) {
      if (i % 5 != 4) kept += (kept.empty() ? "" : " ") + words[i];
    }
    predictions.push_back(kept);
  }
  ASSERT_EQ(predictions.size(), 1000);
  expect_translation_scores(predictions, references, golden("real.json")["multi30k"]);
}

}  // namespace
}  // namespace hone
