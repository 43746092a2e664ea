#include "engine/backends/xla/roll.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <unordered_map>

namespace hone::xla {
namespace {

// A loop replaces at least this number of statements, or it is not worth its copies.
constexpr size_t kFewestStatements = 16;

class Finder {
 public:
  Finder(const Body& body, int64_t fewest_turns, bool collectives)
      : b(body),
        fewest_turns_(fewest_turns),
        collectives_(collectives),
        loop_of_(body.statements.size(), -1) {}

  std::vector<Layer> find(const std::vector<Run>& light) {
    size_t end = b.statements.size();
    while (end > 0 && !has_product(b.statements[end - 1])) --end;
    std::vector<Run> runs;
    find_runs(0, end, runs);
    std::sort(runs.begin(), runs.end(),
              [](const Run& x, const Run& y) { return x.begin < y.begin; });
    runs.insert(runs.end(), light.begin(), light.end());
    for (const Run& run : runs) add(run);
    return std::move(layers_);
  }

 private:
  // The distances between statements of one kind, those that are found most often first.
  std::vector<size_t> periods(size_t begin, size_t end) const {
    std::unordered_map<int32_t, std::vector<size_t>> places;
    for (size_t i = begin; i < end; ++i)
      if (has_product(b.statements[i])) places[b.statements[i].kind].push_back(i);
    std::map<size_t, size_t> found;
    for (const auto& [kind, at] : places)
      for (size_t i = 0; i < at.size(); ++i)
        for (size_t j = i + 1; j < at.size() && j <= i + kNeighbors; ++j) ++found[at[j] - at[i]];
    std::vector<std::pair<size_t, size_t>> often;
    for (const auto& [distance, times] : found)
      if (distance > 1) often.emplace_back(times, distance);
    std::sort(often.rbegin(), often.rend());
    if (often.size() > kTried) often.resize(kTried);
    std::vector<size_t> distances;
    for (const auto& [times, distance] : often) distances.push_back(distance);
    return distances;
  }

  // Cuts [begin, end) at the longest runs.
  void find_runs(size_t begin, size_t end, std::vector<Run>& runs) const {
    Run best;
    size_t saved = kFewestStatements;
    for (const size_t period : periods(begin, end))
      for (size_t i = begin; i + period < end; ++i) {
        size_t j = i;
        while (j + period < end && b.statements[j].kind == b.statements[j + period].kind) ++j;
        if (j - i >= period * static_cast<size_t>(fewest_turns_ - 1) && j - i > saved) {
          best = {i, j + period, period};
          saved = j - i;
        }
        i = j;
      }
    if (best.period == 0) return;
    find_runs(begin, best.begin, runs);
    runs.push_back(best);
    find_runs(best.end, end, runs);
  }

  int32_t statement_of(int32_t value) const { return b.value(value).statement; }
  // Statements before `at`, and arguments.
  bool before(int32_t value, size_t at) const {
    const int32_t s = statement_of(value);
    return s == Body::kNone || static_cast<size_t>(s) < at;
  }
  int32_t operand(size_t statement, size_t j) const {
    return b.statements[statement].operands[j].value;
  }

  // The begin of a layer in a run: the statement at which the fewest bytes go from one layer to the next.
  size_t best_begin(const Run& run) const {
    const size_t period = run.period, middle = run.begin + period;
    std::map<int32_t, size_t> last;  // by value: its last reading in the second turn
    for (size_t u = middle; u < middle + period; ++u)
      for (const Body::Operand& o : b.statements[u].operands)
        if (!before(o.value, run.begin)) last[o.value] = u;
    std::vector<int64_t> crossing(period, 0);
    for (const auto& [value, u] : last) {
      const auto from = static_cast<size_t>(statement_of(value));
      const int64_t size = elements_of(b.value(value).ref);
      for (size_t x = from + 1; x <= u && x <= from + period; ++x)
        crossing[(x - run.begin) % period] += size;
    }
    // A begin after the statements to spare costs a turn.
    const size_t spare = (run.end - run.begin) % period;
    size_t best = 0, free = 0;
    for (size_t r = 1; r < period; ++r) {
      if (crossing[r] < crossing[best]) best = r;
      if (r <= spare && crossing[r] < crossing[free]) free = r;
    }
    if (crossing[free] <= 2 * crossing[best]) best = free;
    return run.begin + best;
  }

  // Whether operand j of two neighboring turns is read in one way.
  bool alike(const Layer& l, int64_t turn, size_t o, size_t j) const {
    const size_t here = l.begin + static_cast<size_t>(turn) * l.period;
    const int32_t x = operand(here + o, j), y = operand(here + l.period + o, j);
    const bool outside_x = before(x, l.begin), outside_y = before(y, l.begin);
    if (x == y) return outside_x;
    if (outside_x && outside_y) return steps(x, y);
    if (outside_y) return false;
    const auto period = static_cast<int32_t>(l.period);
    // The first turns read values from outside, later ones those of a turn before.
    if (outside_x) return statement_of(y) - static_cast<int32_t>(l.begin) < period;
    return result_of(x) == result_of(y) && statement_of(y) - statement_of(x) == period;
  }
  int32_t result_of(int32_t value) const { return b.value(value).result; }
  // Two values from outside: both from one loop and neighbors there, both rows of one stack, or neither.
  bool steps(int32_t x, int32_t y) const {
    if (b.value(x).stack != b.value(y).stack) return false;
    const int32_t from_x = statement_of(x), from_y = statement_of(y);
    const int32_t of_x = from_x < 0 ? -1 : loop_of_[static_cast<size_t>(from_x)];
    const int32_t of_y = from_y < 0 ? -1 : loop_of_[static_cast<size_t>(from_y)];
    if (of_x != of_y) return false;
    if (of_x < 0) return true;
    const auto period = static_cast<int32_t>(layers_[static_cast<size_t>(of_x)].period);
    return result_of(x) == result_of(y) && std::abs(from_x - from_y) == period;
  }

  bool all_alike(const Layer& l, int64_t turn) const {
    for (size_t o = 0; o < l.period; ++o)
      for (size_t j = 0; j < b.statements[l.begin + o].operands.size(); ++j)
        if (!alike(l, turn, o, j)) return false;
    return true;
  }

  // The longest run of turns that are alike. Values of turns that are left out come from outside then, so it is
  // looked for again.
  static constexpr int kTrims = 8;
  bool trim(Layer& l, int64_t fewest) const {
    for (int i = 0; i < kTrims; ++i) {
      int64_t best = 0, length = 1, first = 0;
      for (int64_t turn = 0; turn < l.count; ++turn) {
        if (turn + 1 < l.count && all_alike(l, turn)) continue;
        if (turn - first + 1 > length) {
          best = first;
          length = turn - first + 1;
        }
        first = turn + 1;
      }
      if (length < fewest) return false;
      if (length == l.count) return true;
      l.begin += static_cast<size_t>(best) * l.period;
      l.count = length;
    }
    return false;
  }

  // The way in which operand j of statement o of the layer is read in all turns; none if turns differ.
  std::optional<LayerOperand> operand_of(const Layer& l, size_t o, size_t j) const {
    const auto turns = static_cast<size_t>(l.count);
    std::vector<int32_t> all;
    for (size_t k = 0; k < turns; ++k) all.push_back(operand(l.begin + k * l.period + o, j));
    LayerOperand found;
    if (before(all.back(), l.begin)) {
      if (!std::all_of(all.begin(), all.end(), [&](int32_t v) { return before(v, l.begin); }))
        return std::nullopt;
      if (std::all_of(all.begin(), all.end(), [&](int32_t v) { return v == all[0]; })) {
        found.each = {all[0]};
        return found;
      }
      found.from = LayerOperand::From::each_turn;
      found.each = all;
      return found;
    }
    const auto at = static_cast<size_t>(statement_of(all.back())) - l.begin;
    found.statement = static_cast<int32_t>(at % l.period);
    found.result = result_of(all.back());
    found.turns = static_cast<int32_t>(turns - 1 - at / l.period);
    found.from = found.turns == 0 ? LayerOperand::From::layer : LayerOperand::From::earlier;
    found.each.assign(all.begin(), all.begin() + found.turns);
    for (size_t k = 0; k < turns; ++k) {
      const auto back = static_cast<size_t>(found.turns);
      const bool right = k < back ? before(all[k], l.begin)
                                  : result_of(all[k]) == found.result &&
                                        static_cast<size_t>(statement_of(all[k])) ==
                                            l.begin + (k - back) * l.period + at % l.period;
      if (!right) return std::nullopt;
    }
    return found;
  }

  bool has_collective(const Layer& l) const {
    for (size_t o = 0; o < l.period; ++o)
      for (const char* name :
           {"stablehlo.all_reduce", "stablehlo.all_gather", "stablehlo.reduce_scatter"})
        if (b.statements[l.begin + o].text.find(name) != std::string::npos) return true;
    return false;
  }

  // Whether the values are rows of one stack, or the results of one loop, with equal distances.
  bool stacked(const std::vector<int32_t>& each) const {
    const auto place = [&](size_t k) {
      const Body::Value& v = b.value(each[k]);
      return v.stack != Body::kNone ? v.row : v.statement;
    };
    const bool row = b.value(each[0]).stack != Body::kNone;
    if (!row &&
        (statement_of(each[0]) < 0 || loop_of_[static_cast<size_t>(statement_of(each[0]))] < 0))
      return false;
    for (size_t k = 1; k < each.size(); ++k)
      if (place(k) - place(k - 1) != place(1) - place(0)) return false;
    return true;
  }
  // The bytes of arrays that a loop would need beside those that are there, at 4 an element.
  int64_t copied_bytes(const Layer& l) const {
    int64_t bytes = 0;
    for (const auto& operands : l.operands)
      for (const LayerOperand& o : operands)
        if (o.from == LayerOperand::From::each_turn && !stacked(o.each))
          bytes += 4 * l.count * elements_of(b.value(o.each[0]).ref);
    return bytes;
  }

  void add(const Run& run) {
    Layer l;
    l.begin = run.light ? run.begin : best_begin(run);
    l.period = run.period;
    l.count = static_cast<int64_t>((run.end - l.begin) / run.period);
    const int64_t fewest = run.light ? 2 : fewest_turns_;
    if (l.count < fewest || !trim(l, fewest)) return;
    if (!collectives_ && has_collective(l)) return;
    l.operands.resize(l.period);
    l.constants.resize(l.period);
    for (size_t o = 0; o < l.period; ++o) {
      const Body::Parsed& s = b.statements[l.begin + o];
      for (size_t j = 0; j < s.operands.size(); ++j) {
        auto found = operand_of(l, o, j);
        if (!found) return;
        l.operands[o].push_back(std::move(*found));
      }
      bool differs = false;
      for (int64_t k = 0; k < l.count; ++k) {
        l.constants[o].push_back(
            b.statements[l.begin + static_cast<size_t>(k) * l.period + o].constant);
        differs |= l.constants[o].back() != s.constant;
      }
      if (!differs) l.constants[o].clear();
    }
    if (copied_bytes(l) > (run.light ? kLightCopies : kCopies)) return;
    std::fill(loop_of_.begin() + static_cast<std::ptrdiff_t>(l.begin),
              loop_of_.begin() + static_cast<std::ptrdiff_t>(l.end()),
              static_cast<int32_t>(layers_.size()));
    layers_.push_back(std::move(l));
  }

  static constexpr size_t kNeighbors = 12, kTried = 24;
  static constexpr int64_t kLightCopies = 1 << 20, kCopies = 64 << 20;
  const Body& b;
  const int64_t fewest_turns_;
  const bool collectives_;
  std::vector<Layer> layers_;
  std::vector<int32_t> loop_of_;  // by statement: its layer, or -1
};

}  // namespace

std::vector<Layer> find_layers(const Body& body, const std::vector<Run>& runs, int64_t fewest_turns,
                               bool collectives) {
  return Finder(body, fewest_turns, collectives).find(runs);
}

}  // namespace hone::xla
