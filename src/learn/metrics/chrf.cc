// chrf: F-score of character n-grams up to 6, recall weighing twice, 0 to 100 (Popovic, "chrF:
// character n-gram F-score for automatic MT evaluation", WMT 2015); with word n-grams up to 2 it is
// chrF++ (2017). The numbers of sacreBLEU 2.6: counts of the corpus, white space left out, orders
// that no text has left out; of several references the one with the best score.
#include <limits>
#include <optional>

#include "base/unicode/unicode.h"
#include "learn/metrics/characters.h"
#include "learn/metrics/counted.h"
#include "learn/metrics/interner.h"
#include "learn/metrics/ngrams.h"

namespace hone {
namespace {

constexpr int kCharacters = 6, kWords = 2, kBeta = 2;
// For each order: n-grams predicted, expected, common.
constexpr size_t kChrfCounts = size_t{3} * (kCharacters + kWords);

class Chrf final : public CountedMetric<kChrfCounts> {
 public:
  explicit Chrf(const MetricOptions& o) : CountedMetric(o), word_order_(o.chrf_word_order) {
    HONE_BUG_IF(word_order_ < 0 || word_order_ > kWords, "word order {}", word_order_);
  }

  OrderedJson details() const override {
    OrderedJson json;
    json["signature"] =
        fmt::format("{}|case:mixed|eff:yes|nc:{}|nw:{}|space:no|version:{}", references_signature(),
                    kCharacters, word_order_, kSacrebleuVersion);
    return json;
  }

 private:
  struct Text {
    Ngrams<21, kCharacters> characters;
    Ngrams<32, kWords> words;
  };

  Counts count(std::string_view prediction, std::span<const std::string_view> references) override {
    if (words_.size() > kKeptWords) words_.clear();
    read(prediction, prediction_);
    Counts best{};
    double best_score = -1;
    for (const std::string_view reference : references) {
      read(reference, reference_);
      Counts counts{};
      for (int n = 1; n <= kCharacters; ++n)
        set_counts(counts, n - 1, prediction_.characters, reference_.characters, n);
      for (int n = 1; n <= word_order_; ++n)
        set_counts(counts, kCharacters + n - 1, prediction_.words, reference_.words, n);
      const double score = score_of(counts);
      if (score > best_score) best_score = score, best = counts;
    }
    return best;
  }

  template <class Grams>
  static void set_counts(Counts& counts, int order, const Grams& predicted, const Grams& expected,
                         int n) {
    int64_t* c = &counts[static_cast<size_t>(3 * order)];
    c[0] = expected.total(n) > 0 ? predicted.total(n) : 0;
    c[1] = expected.total(n);
    c[2] = predicted.matches(std::span(&expected, 1), n);
  }

  double score_of(const Counts& sums) const {
    double precision = 0, recall = 0;
    int orders = 0;
    for (int order = 0; order < kCharacters + word_order_; ++order) {
      const int64_t* c = &sums[static_cast<size_t>(3 * order)];
      if (c[0] == 0 || c[1] == 0) continue;
      precision += static_cast<double>(c[2]) / static_cast<double>(c[0]);
      recall += static_cast<double>(c[2]) / static_cast<double>(c[1]);
      ++orders;
    }
    if (orders == 0 || precision + recall == 0) return 0;
    precision /= orders;
    recall /= orders;
    constexpr double kFactor = kBeta * kBeta;
    const double score = (1 + kFactor) * precision * recall / (kFactor * precision + recall);
    return 100 * score;
  }

  MetricValues values_of(const Counts& sums) const override {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {{"chrf", examples() == 0 ? nan : score_of(sums)}};
  }

  void read(std::string_view text, Text& out) {
    split_words(text, pieces_);
    symbols_.clear();
    for (const std::string_view word : pieces_) {
      for (const char *p = word.data(), *end = p + word.size(); p < end;) {
        const Char c = decode_char(p, end);
        symbols_.push_back(c.code == kInvalidChar ? 0xFFFD : c.code);
        p += c.length;
      }
    }
    out.characters.set(symbols_);
    if (word_order_ == 0) return;
    symbols_.clear();
    for (const std::string_view word : pieces_) {
      const auto [first, second] = without_punctuation(word);
      symbols_.push_back(static_cast<uint32_t>(words_.number(first)));
      if (!second.empty()) symbols_.push_back(static_cast<uint32_t>(words_.number(second)));
    }
    out.words.set(symbols_);
  }

  // A word of several characters gives up ASCII punctuation at its end, or else at its beginning.
  static std::pair<std::string_view, std::string_view> without_punctuation(std::string_view w) {
    const auto is_punctuation = [](char c) {
      return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
             (c >= '{' && c <= '~');
    };
    if (decode_char(w.data(), w.data() + w.size()).length == static_cast<int>(w.size()))
      return {w, {}};
    if (is_punctuation(w.back())) return {w.substr(0, w.size() - 1), w.substr(w.size() - 1)};
    if (is_punctuation(w.front())) return {w.substr(0, 1), w.substr(1)};
    return {w, {}};
  }

  int word_order_;
  Interner words_;  // forgotten when there are kKeptWords, so memory does not grow
  Text prediction_, reference_;
  std::vector<std::string_view> pieces_;
  std::vector<uint32_t> symbols_;
};

}  // namespace

MetricType metric_chrf() {
  return {
      "chrf",
      "chrF or chrF++, 0 to 100, as sacreBLEU",
      MetricInput::kText,
      {},
      [](const MetricOptions& o) -> std::unique_ptr<Metric> { return std::make_unique<Chrf>(o); },
      100};
}

}  // namespace hone
