#include "learn/answers/extracted_answer.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hone {
namespace {

// Numbers of the largest, best first; of equal ones the last first, as reading numpy's argsort backwards.
std::vector<size_t> largest(std::span<const float> scores, int64_t count) {
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return scores[a] < scores[b]; });
  std::reverse(order.begin(), order.end());
  order.resize(std::min(order.size(), static_cast<size_t>(count)));
  return order;
}

void add_candidates(const AnswerRules& rules, const ScoredPart& part,
                    std::vector<AnswerCandidate>& to) {
  const auto span_of = [&](size_t token) -> const std::pair<size_t, size_t>* {
    const auto first = static_cast<size_t>(part.context);
    if (token < first || token - first >= part.spans.size()) return nullptr;
    return &part.spans[token - first];
  };
  const std::vector<size_t> ends = largest(part.end, rules.n_best);
  for (const size_t begin : largest(part.begin, rules.n_best))
    for (const size_t end : ends) {
      const auto *first = span_of(begin), *last = span_of(end);
      if (first == nullptr || last == nullptr || end < begin ||
          static_cast<int64_t>(end - begin) + 1 > rules.most_tokens)
        continue;
      to.push_back({"", first->first, last->second, part.begin[begin] + part.end[end],
                    part.begin[begin], part.end[end]});
    }
}

bool is_null(const AnswerCandidate& c) { return c.from == 0 && c.to == 0; }

// The first of equal ones stay.
void keep_best(int64_t count, std::vector<AnswerCandidate>& all) {
  std::stable_sort(all.begin(), all.end(), [](const AnswerCandidate& a, const AnswerCandidate& b) {
    return a.score > b.score;
  });
  all.resize(std::min(all.size(), static_cast<size_t>(count)));
}

// Keeps the best, best first, and gives them their texts.
void finish(const AnswerRules& rules, std::string_view context, const AnswerCandidate& none,
            std::vector<AnswerCandidate>& all) {
  if (rules.may_lack) all.push_back(none);
  keep_best(rules.n_best, all);
  if (rules.may_lack && std::none_of(all.begin(), all.end(), is_null)) all.push_back(none);
  for (AnswerCandidate& c : all)
    if (c.to > c.from) c.text = context.substr(c.from, c.to - c.from);
  if (all.empty() || (all.size() == 1 && all[0].text.empty()))
    all.insert(all.begin(), {.text = "empty"});
}

void add_probabilities(std::vector<AnswerCandidate>& all) {
  double sum = 0;
  float most = all[0].score;
  for (const AnswerCandidate& c : all) most = std::max(most, c.score);
  for (AnswerCandidate& c : all)
    sum += c.probability = std::exp(static_cast<double>(c.score - most));
  for (AnswerCandidate& c : all) c.probability /= sum;
}

}  // namespace

ExtractedAnswer extract_answer(const AnswerRules& rules, std::string_view context,
                               std::span<const ScoredPart> parts) {
  ExtractedAnswer out;
  AnswerCandidate none;
  bool has_none = false;
  for (const ScoredPart& part : parts) {
    const float begin = part.begin[0], end = part.end[0];
    if (!std::exchange(has_none, true) || none.score > begin + end)
      none = {"", 0, 0, begin + end, begin, end};
    add_candidates(rules, part, out.best);
    keep_best(rules.n_best, out.best);
  }
  finish(rules, context, none, out.best);
  add_probabilities(out.best);
  out.chosen = 0;
  if (rules.may_lack) {
    const auto first = std::find_if(out.best.begin(), out.best.end(),
                                    [](const AnswerCandidate& c) { return !c.text.empty(); });
    const AnswerCandidate& c = first == out.best.end() ? out.best[0] : *first;
    out.null_odds =
        static_cast<double>(none.score) - static_cast<double>(c.begin) - static_cast<double>(c.end);
    out.chosen.reset();
    if (*out.null_odds <= rules.null_margin && first != out.best.end())
      out.chosen = static_cast<size_t>(first - out.best.begin());
  }
  if (out.chosen) out.text = out.best[*out.chosen].text;
  return out;
}

}  // namespace hone
