// seqeval: precision, recall and F1 of the entities that labels such as B-PER I-PER O spell, and
// the share of labels that are right; the numbers of the package seqeval 1.2 (Nakayama 2018) in its
// default mode, which is conlleval's of CoNLL-2000 (Tjong Kim Sang and Buchholz). A text is the
// labels of a sentence, with spaces between them. Memory: counts by type, of kept examples 20
// bytes.
#include <array>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "learn/metrics/errors.h"
#include "learn/metrics/metric.h"

namespace hone {
namespace {

struct Entity {
  std::string_view type;
  size_t first, last;  // labels
  auto operator<=>(const Entity&) const = default;
};

bool ends(char before, char now, bool other_type) {
  const bool inner = before == 'B' || before == 'I';
  return before == 'E' || before == 'S' || (inner && (now == 'B' || now == 'S' || now == 'O')) ||
         (before != 'O' && before != '.' && other_type);
}
bool starts(char before, char now, bool other_type) {
  const bool outer = before == 'E' || before == 'S' || before == 'O';
  return now == 'B' || now == 'S' || (outer && (now == 'E' || now == 'I')) ||
         (now != 'O' && now != '.' && other_type);
}

void find_entities(const std::vector<std::string_view>& labels, std::set<Entity>& out) {
  out.clear();
  char before = 'O';
  std::string_view type_before;
  size_t first = 0;
  for (size_t i = 0; i <= labels.size(); ++i) {
    const std::string_view label = i < labels.size() ? labels[i] : "O";
    // The text after the first '-' after the letter: "B-LOC" and "BLOC" are of type LOC.
    std::string_view type = label.substr(1);
    type.remove_prefix(type.find('-') == type.npos ? 0 : type.find('-') + 1);
    if (type.empty()) type = "_";
    const bool other = type != type_before;
    if (ends(before, label[0], other)) out.insert({type_before, first, i - 1});
    if (starts(before, label[0], other)) first = i;
    before = label[0];
    type_before = type;
  }
}

void split_at_spaces(std::string_view text, std::vector<std::string_view>& out) {
  out.clear();
  constexpr std::string_view kSpace = " \t\r\n";
  for (size_t at = text.find_first_not_of(kSpace); at != text.npos;) {
    const size_t end = std::min(text.find_first_of(kSpace, at), text.size());
    out.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(kSpace, end);
  }
}

class Seqeval final : public Metric {
 public:
  explicit Seqeval(const MetricOptions& o) : keep_(o.keep_examples) {}

  void add_text(std::string_view prediction,
                std::span<const std::string_view> references) override {
    split_at_spaces(prediction, predicted_);
    split_at_spaces(references[0], expected_);
    ++examples_;
    Counts counts{};
    if (!wrong_ && (predicted_.size() != expected_.size() || references.size() > 1)) {
      wrong_ =
          Error(err::kMetricPairs,
                references.size() > 1
                    ? fmt::format("{} references for one prediction of seqeval", references.size())
                    : fmt::format("{} labels are predicted where the reference has {}",
                                  predicted_.size(), expected_.size()));
      wrong_->at(fmt::format("example {}", examples_))
          .todo("give one reference with a label for each predicted one");
    } else if (!wrong_) {
      counts = count();
    }
    for (size_t k = 0; k < counts.size(); ++k) sums_[k] += counts[k];
    if (!keep_) return;
    auto& row = kept_.emplace_back();
    for (size_t k = 0; k < counts.size(); ++k) row[k] = static_cast<int32_t>(counts[k]);
  }

  int64_t examples() const override { return examples_; }
  Result<MetricValues> values() const override { return values_of(sums_); }
  Result<MetricValues> values_of(std::span<const int32_t> times) const override {
    Counts sums{};
    for (size_t i = 0; i < times.size(); ++i)
      for (size_t k = 0; k < sums.size(); ++k) sums[k] += int64_t{kept_[i][k]} * times[i];
    return values_of(sums);
  }

  // By type of entity.
  OrderedJson details() const override {
    OrderedJson out = OrderedJson::object();
    for (const auto& [type, c] : types_)
      out[type] = {{"precision", precision(c)},
                   {"recall", recall(c)},
                   {"f1", f1(c)},
                   {"number", c[kExpected]}};
    return out;
  }

 private:
  enum : size_t { kRight, kPredicted, kExpected, kRightLabels, kLabels, kCounts };
  using Counts = std::array<int64_t, kCounts>;

  static double share(int64_t part, int64_t whole) {
    return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
  }
  static double precision(const Counts& c) { return share(c[kRight], c[kPredicted]); }
  static double recall(const Counts& c) { return share(c[kRight], c[kExpected]); }
  static double f1(const Counts& c) {
    const double p = precision(c), r = recall(c);
    return p + r == 0 ? 0 : 2 * p * r / (p + r);
  }

  Counts count() {
    Counts counts{};
    counts[kLabels] = static_cast<int64_t>(expected_.size());
    for (size_t i = 0; i < expected_.size(); ++i)
      counts[kRightLabels] += predicted_[i] == expected_[i];
    const auto add = [&](std::string_view type, size_t which) {
      ++counts[which];
      auto at = types_.find(type);
      if (at == types_.end()) at = types_.emplace(type, Counts{}).first;
      ++at->second[which];
    };
    find_entities(predicted_, predicted_entities_);
    find_entities(expected_, expected_entities_);
    for (const Entity& e : expected_entities_) add(e.type, kExpected);
    for (const Entity& e : predicted_entities_) {
      add(e.type, kPredicted);
      if (expected_entities_.contains(e)) add(e.type, kRight);
    }
    return counts;
  }

  Result<MetricValues> values_of(const Counts& c) const {
    if (wrong_) return *wrong_;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    if (c[kLabels] == 0)
      return MetricValues{{"precision", nan}, {"recall", nan}, {"f1", nan}, {"accuracy", nan}};
    return MetricValues{{"precision", precision(c)},
                        {"recall", recall(c)},
                        {"f1", f1(c)},
                        {"accuracy", share(c[kRightLabels], c[kLabels])}};
  }

  bool keep_;
  Counts sums_{};
  std::map<std::string, Counts, std::less<>> types_;
  int64_t examples_ = 0;
  std::vector<std::array<int32_t, kCounts>> kept_;
  std::optional<Error> wrong_;
  // Used again by every example.
  std::vector<std::string_view> predicted_, expected_;
  std::set<Entity> predicted_entities_, expected_entities_;
};

}  // namespace

MetricType metric_seqeval() {
  return {"seqeval",
          "precision, recall and F1 of entities in labels such as B-PER I-PER O",
          MetricInput::kTags,
          {},
          [](const MetricOptions& o) -> std::unique_ptr<Metric> {
            return std::make_unique<Seqeval>(o);
          }};
}

}  // namespace hone
