#include "learn/grammar/matcher.h"

#include <algorithm>

namespace hone {
namespace {

uint64_t key_of(int32_t a, int32_t b) {
  return static_cast<uint64_t>(static_cast<uint32_t>(a)) << 32 | static_cast<uint32_t>(b);
}

}  // namespace

Matcher::Matcher(std::shared_ptr<const Automaton> automaton) : automaton_(std::move(automaton)) {
  const Automaton::Rule& root = automaton_->rule(automaton_->root());
  seen_.clear();
  reach({root.start, -1}, begin_);
  std::sort(begin_.begin(), begin_.end());
}

int32_t Matcher::state_of(const Ways& ways) {
  if (ways.empty()) return kDead;
  std::string key(reinterpret_cast<const char*>(ways.data()), ways.size() * sizeof(Way));
  const auto [it, is_new] =
      numbers_.try_emplace(std::move(key), static_cast<int32_t>(states_.size()));
  if (is_new) states_.push_back({ways, nullptr});
  work_ += static_cast<int64_t>(ways.size());
  return it->second;
}

void Matcher::forget() {
  states_.clear();
  numbers_.clear();
}

int32_t Matcher::frame(int32_t to, int32_t below) {
  const auto [it, is_new] =
      frame_numbers_.try_emplace(key_of(to, below), static_cast<int32_t>(frames_.size()));
  if (is_new) frames_.push_back({to, below});
  return it->second;
}

// Adds all that is reached from `way` without a byte and continues by one, or is whole.
void Matcher::reach(Way way, Ways& out) {
  queue_.assign(1, way);
  while (!queue_.empty()) {
    const Way at = queue_.back();
    queue_.pop_back();
    if (!seen_.insert(key_of(at.state, at.frame)).second) continue;
    ++work_;
    const Automaton::State& s = automaton_->state(at.state);
    if (!s.bytes.empty()) out.push_back(at);
    for (const int32_t to : s.free) queue_.push_back({to, at.frame});
    for (const Automaton::Call& c : s.calls) {
      const Automaton::State& then = automaton_->state(c.to);
      // The last call of a rule needs no frame: it returns where the rule does.
      const bool last = then.ends && then.bytes.empty() && then.free.empty() && then.calls.empty();
      queue_.push_back({automaton_->rule(c.rule).start, last ? at.frame : frame(c.to, at.frame)});
    }
    if (!s.ends) continue;
    if (at.frame < 0)
      out.push_back({-1, -1});
    else
      queue_.push_back({frames_[static_cast<size_t>(at.frame)].to,
                        frames_[static_cast<size_t>(at.frame)].below});
  }
}

int32_t Matcher::find_next(int32_t state, uint8_t byte) {
  Ways out;
  if (seen_.bucket_count() > 4096) seen_ = {};  // clearing costs its buckets
  seen_.clear();
  for (const Way& w : ways(state)) {
    if (w.state < 0) continue;
    for (const Automaton::ByteEdge& e : automaton_->state(w.state).bytes)
      if (byte >= e.first && byte <= e.last) reach({e.to, w.frame}, out);
  }
  work_ += static_cast<int64_t>(ways(state).size());
  std::sort(out.begin(), out.end());
  out.erase(std::unique(out.begin(), out.end()), out.end());
  const int32_t to = state_of(out);
  auto& row = states_[static_cast<size_t>(state)].row;
  if (!row) {
    row = std::make_unique<std::array<int32_t, 256>>();
    row->fill(kUnknown);
  }
  (*row)[byte] = to;
  return to;
}

}  // namespace hone
