// Parts of contexts, places of answers and answers by scores as in run_qa (tests/goldens/qa, made
// again by tools/golden_qa.py; tests/runs/qa.run compares ten losses and files).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/unicode/unicode.h"
#include "learn/pretrained/pretrained.h"
#include "learn/tasks/qa_answers.h"

namespace hone {
namespace {

using testing::HasSubstr;
const std::string kQa = std::string(HONE_SOURCE_DIR) + "/tests/goldens/qa/";

Json qa_golden(const std::string& name) { return Json::parse(std::ifstream(kQa + name + ".json")); }

Pretrained qa_model(const std::string& name) {
  OpenOptions options;
  options.need_weights = false;
  return open_pretrained(kQa + name, options).value();
}

Result<QaData> read_questions(const std::string& name, const std::string& file,
                              int64_t length = 36) {
  QaSettings s;
  s.do_train = true;
  s.train_file = {file};
  s.max_seq_length = length, s.doc_stride = 6;
  ThreadPool pool(2);
  return read_qa(s, qa_model(name), pool);
}

size_t character_of(const std::string& text, size_t byte) {
  size_t count = 0;
  for (size_t at = 0; at < byte; ++count)
    at += static_cast<size_t>(decode_char(text.data() + at, text.data() + text.size()).length);
  return count;
}

class QaParity : public testing::TestWithParam<std::string> {};

TEST_P(QaParity, PartsOfTransformers) {
  const Json golden = qa_golden(GetParam());
  for (const char* file : {"squad.json", "flat.jsonl"}) {
    const auto data = read_questions(GetParam(), kQa + file);
    ASSERT_TRUE(data.ok()) << data.error().text();
    const QaSplit& split = *data->train;
    ASSERT_EQ(split.rows.size(), std::ssize(golden["parts"]));
    for (size_t i = 0; i < split.parts.size(); ++i) {
      SCOPED_TRACE(i);
      const Json& want = golden["parts"][i];
      const QaPart& part = split.parts[i];
      const QaExample& example = split.examples[static_cast<size_t>(part.example)];
      const auto ids = split.rows.row(static_cast<int64_t>(i));
      EXPECT_EQ(std::vector<int32_t>(ids.begin(), ids.end()),
                want["ids"].get<std::vector<int32_t>>());
      EXPECT_EQ(example.id, want["id"]);
      EXPECT_EQ(part.context, want["context"]);
      EXPECT_EQ((std::vector<int32_t>{part.begin, part.end}),
                want["answer"].get<std::vector<int32_t>>());
      std::vector<std::vector<size_t>> spans;
      for (const auto& [begin, end] : part.spans)
        spans.push_back({character_of(example.context, begin), character_of(example.context, end)});
      EXPECT_EQ(spans, want["spans"].get<std::vector<std::vector<size_t>>>());
    }
  }
}

TEST_P(QaParity, AnswersOfScores) {
  const Json golden = qa_golden(GetParam());
  const auto data = read_questions(GetParam(), kQa + "squad.json").value();
  std::vector<QaScores> scores;
  for (const Json& part : golden["parts"])
    scores.push_back(
        {part["scores"][0].get<std::vector<float>>(), part["scores"][1].get<std::vector<float>>()});
  for (const bool negatives : {false, true}) {
    QaSettings s;
    s.version_2_with_negative = negatives;
    s.n_best_size = 5, s.max_answer_length = 6, s.null_score_diff_threshold = 0.5;
    const QaAnswers answers = find_answers(s, *data.train, scores);
    const Json& want = golden["answers"][negatives ? "some" : "all"];
    Json texts;
    for (size_t i = 0; i < answers.texts.size(); ++i)
      texts[data.train->examples[i].id] = answers.texts[i];
    EXPECT_EQ(texts, want["predictions"]);
    for (const auto& [id, list] : want["nbest"].items()) {
      ASSERT_EQ(answers.nbest[id].size(), list.size()) << id;
      for (size_t i = 0; i < list.size(); ++i) {
        EXPECT_EQ(answers.nbest[id][i]["text"], list[i][0]) << id;
        EXPECT_NEAR(answers.nbest[id][i]["probability"].get<double>(), list[i][1].get<double>(),
                    1e-5);
      }
      if (negatives) {
        EXPECT_NEAR(answers.null_odds[id].get<double>(), want["null_odds"][id].get<double>(), 1e-5);
      }
    }
  }
}

TEST(QaData, NamesWhatIsWrong) {
  EXPECT_THAT(read_questions("bert", kQa + "flat.jsonl", 20).error().text(),
              HasSubstr("H2123  a question of"));
  const auto error_of = [](const std::string& line) {
    const std::string file = testing::TempDir() + "/hone_qa_row.jsonl";
    std::ofstream(file) << line << "\n";
    const auto read = read_questions("bert", file);
    return read.ok() ? std::string("none") : read.error().text();
  };
  EXPECT_THAT(error_of(R"({"question": "a", "text": "b"})"), HasSubstr("H2109"));
  EXPECT_THAT(error_of(R"({"question": "a", "context": "b", "answers": {"text": ["c"], )"
                       R"("answer_start": [0]}})"),
              HasSubstr("H2123  the context has no answer 'c' at character 0"));
  EXPECT_THAT(error_of(R"({"question": "a", "context": "b", "answers": "c"})"), HasSubstr("H2110"));
  EXPECT_THAT(error_of(R"({"title": "a", "paragraphs": [{"context": "b"}]})"), HasSubstr("H2110"));
  EXPECT_EQ(error_of(R"({"question": "a", "context": "b", "answers": {"text": ["b"], )"
                     R"("answer_start": [0]}})"),
            "none");
}

INSTANTIATE_TEST_SUITE_P(Models, QaParity, testing::Values("bert", "roberta"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hone
