#include "learn/tasks/qa_answers.h"

#include <cmath>
#include <numeric>

#include "base/store/store.h"
#include "learn/harness/sample_project.h"
#include "learn/metrics/answers.h"

namespace hone {
namespace {

struct AnswerCandidate {
  size_t from = 0, to = 0;  // bytes of the context; both 0: no answer
  float score = 0, begin = 0, end = 0;
};

// Numbers of the largest, best first; of equal ones the last first, as reading numpy's argsort backwards.
std::vector<size_t> largest(const std::vector<float>& scores, int64_t count) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  std::reverse(order.begin(), order.end());
  order.resize(std::min(order.size(), static_cast<size_t>(count)));
  return order;
}

void add_candidates(const QaSettings& s, const QaPart& part, const QaScores& scores,
                    std::vector<AnswerCandidate>& to) {
  const auto span_of = [&](size_t token) -> const std::pair<size_t, size_t>* {
    const auto context = static_cast<size_t>(part.context);
    if (token < context || token - context >= part.spans.size()) return nullptr;
    return &part.spans[token - context];
  };
  const std::vector<size_t> ends = largest(scores.end, s.n_best_size);
  for (const size_t begin : largest(scores.begin, s.n_best_size))
    for (const size_t end : ends) {
      const auto *first = span_of(begin), *last = span_of(end);
      if (first == nullptr || last == nullptr || end < begin ||
          static_cast<int64_t>(end - begin) + 1 > s.max_answer_length)
        continue;
      to.push_back({first->first, last->second, scores.begin[begin] + scores.end[end],
                    scores.begin[begin], scores.end[end]});
    }
}

OrderedJson entry_of(const std::string& text, const AnswerCandidate& c, double probability) {
  return {{"start_logit", static_cast<double>(c.begin)},
          {"end_logit", static_cast<double>(c.end)},
          {"text", text},
          {"probability", probability}};
}

bool is_null(const AnswerCandidate& c) { return c.from == 0 && c.to == 0; }

// The answers of one question, best first; `null_score` is of no answer.
std::vector<std::pair<std::string, AnswerCandidate>> answers_of(const QaSettings& s,
                                                                const std::string& context,
                                                                std::vector<AnswerCandidate> all,
                                                                const AnswerCandidate& none) {
  if (s.version_2_with_negative) all.push_back(none);
  std::stable_sort(all.begin(), all.end(), [](const AnswerCandidate& a, const AnswerCandidate& b) {
    return a.score > b.score;
  });
  all.resize(std::min(all.size(), static_cast<size_t>(s.n_best_size)));
  if (s.version_2_with_negative && std::none_of(all.begin(), all.end(), is_null))
    all.push_back(none);
  std::vector<std::pair<std::string, AnswerCandidate>> out;
  for (const AnswerCandidate& c : all)
    out.emplace_back(c.to > c.from ? context.substr(c.from, c.to - c.from) : "", c);
  if (out.empty() || (out.size() == 1 && out[0].first.empty()))
    out.insert(out.begin(), {"empty", AnswerCandidate()});
  return out;
}

}  // namespace

QaAnswers find_answers(const QaSettings& s, const QaSplit& split,
                       std::span<const QaScores> scores) {
  QaAnswers out;
  size_t row = 0;
  for (size_t e = 0; e < split.examples.size(); ++e) {
    const QaExample& example = split.examples[e];
    std::vector<AnswerCandidate> all;
    std::optional<AnswerCandidate> none;
    for (; row < split.parts.size() && split.parts[row].example == static_cast<int64_t>(e); ++row) {
      const float begin = scores[row].begin[0], end = scores[row].end[0];
      if (!none || none->score > begin + end) none = AnswerCandidate{0, 0, begin + end, begin, end};
      add_candidates(s, split.parts[row], scores[row], all);
    }
    const auto best =
        answers_of(s, example.context, std::move(all), none.value_or(AnswerCandidate()));
    double sum = 0;
    float most = best[0].second.score;
    for (const auto& [text, c] : best) most = std::max(most, c.score);
    for (const auto& [text, c] : best) sum += std::exp(static_cast<double>(c.score - most));
    OrderedJson list = OrderedJson::array();
    for (const auto& [text, c] : best)
      list.push_back(entry_of(text, c, std::exp(static_cast<double>(c.score - most)) / sum));
    out.nbest[example.id] = std::move(list);
    std::string answer = best[0].first;
    if (s.version_2_with_negative) {
      const auto first = std::find_if(best.begin(), best.end(),
                                      [](const auto& one) { return !one.first.empty(); });
      const AnswerCandidate& c = first == best.end() ? best[0].second : first->second;
      const double odds = static_cast<double>(none->score) - static_cast<double>(c.begin) -
                          static_cast<double>(c.end);
      out.null_odds[example.id] = odds;
      answer = odds > s.null_score_diff_threshold || first == best.end() ? "" : first->first;
    }
    out.texts.push_back(std::move(answer));
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
