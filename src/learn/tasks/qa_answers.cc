#include "learn/tasks/qa_answers.h"

#include "base/store/store.h"
#include "learn/answers/extracted_answer.h"
#include "learn/harness/sample_project.h"
#include "learn/metrics/answers.h"

namespace hone {
namespace {

OrderedJson entry_of(const AnswerCandidate& c) {
  return {{"start_logit", static_cast<double>(c.begin)},
          {"end_logit", static_cast<double>(c.end)},
          {"text", c.text},
          {"probability", c.probability}};
}

}  // namespace

QaAnswers find_answers(const QaSettings& s, const QaSplit& split,
                       std::span<const QaScores> scores) {
  const AnswerRules rules{s.n_best_size, s.max_answer_length, s.version_2_with_negative,
                          s.null_score_diff_threshold};
  QaAnswers out;
  size_t row = 0;
  for (size_t e = 0; e < split.examples.size(); ++e) {
    const QaExample& example = split.examples[e];
    std::vector<ScoredPart> parts;
    for (; row < split.parts.size() && split.parts[row].example == static_cast<int64_t>(e); ++row)
      parts.push_back(
          {split.parts[row].context, split.parts[row].spans, scores[row].begin, scores[row].end});
    ExtractedAnswer answer = extract_answer(rules, example.context, parts);
    OrderedJson list = OrderedJson::array();
    for (const AnswerCandidate& c : answer.best) list.push_back(entry_of(c));
    out.nbest[example.id] = std::move(list);
    if (answer.null_odds) out.null_odds[example.id] = *answer.null_odds;
    out.texts.push_back(std::move(answer.text));
  }
  return out;
}

OrderedJson sample_question(int i) {
  const SampleSentence s = sample_sentence(i);
  const std::string before = fmt::format("The ferry to {} leaves at ", s.place);
  return {{"id", std::to_string(i)},
          {"question", fmt::format("When does the ferry to {} leave?", s.place)},
          {"context", before + s.time + "."},
          {"answers",
           {{"text", OrderedJson::array({s.time})},
            {"answer_start", OrderedJson::array({before.size()})}}}};
}

OrderedJson score_answers(std::span<const QaExample> examples, std::span<const std::string> texts,
                          bool negatives, ExampleScores* each) {
  struct Sum {
    double exact = 0, f1 = 0, count = 0;
    void add(const AnswerScore& score) { exact += score.exact, f1 += score.f1, count += 1; }
  } all, with, without;
  for (size_t i = 0; i < texts.size(); ++i) {
    const std::vector<std::string>& answers = examples[i].answers;
    const AnswerScore score = score_answer(texts[i], answers, negatives);
    all.add(score);
    (answers.empty() ? without : with).add(score);
    if (each)
      each->add(static_cast<int64_t>(i),
                {{"prediction", texts[i]},
                 {"reference", answers},
                 {"scores", {{"exact_match", 100 * score.exact}, {"f1", 100 * score.f1}}}});
  }
  OrderedJson out;
  const auto put = [&](const std::string& before, const Sum& sum, const char* exact) {
    out[before + exact] = 100 * sum.exact / std::max(sum.count, 1.0);
    out[before + "f1"] = 100 * sum.f1 / std::max(sum.count, 1.0);
  };
  if (!negatives) {
    put("", all, "exact_match");
    return out;
  }
  put("", all, "exact");
  out["total"] = all.count;
  for (const auto& [name, sum] : {std::pair("HasAns_", &with), {"NoAns_", &without}}) {
    if (sum->count == 0) continue;
    put(name, *sum, "exact");
    out[std::string(name) + "total"] = sum->count;
  }
  return out;
}

Status write_answers(const QaSettings& s, std::span<const QaExample> examples,
                     const QaAnswers& answers, const std::string& folder,
                     const std::string& prefix) {
  const auto write = [&](const char* name, const OrderedJson& value) {
    return file_store().write(fmt::format("{}/{}_{}.json", folder, prefix, name),
                              value.dump(4, ' ', true) + "\n");
  };
  OrderedJson predictions = OrderedJson::object();
  for (size_t i = 0; i < examples.size(); ++i) predictions[examples[i].id] = answers.texts[i];
  HONE_TRY(write("predictions", predictions));
  HONE_TRY(write("nbest_predictions", answers.nbest));
  if (s.version_2_with_negative) HONE_TRY(write("null_odds", answers.null_odds));
  return Ok{};
}

}  // namespace hone
