#include "learn/grammar/token_masks.h"

#include <algorithm>

namespace hone {

TokenMasks::TokenMasks(TokenGrammar grammar, std::span<const int32_t> end_tokens)
    : grammar_(std::move(grammar)),
      matcher_(grammar_.automaton),
      end_tokens_(end_tokens.begin(), end_tokens.end()),
      at_(TokenTrie::kLongest + 1) {}

void TokenMasks::forget() {
  matcher_.forget();
  masks_.clear();
}

// Walks the trie and the automaton together. False: the limits of one search were met.
bool TokenMasks::find(int32_t from, std::vector<uint64_t>& bits) {
  const int64_t most = matcher_.work() + kMostWork;
  const std::span<const TokenTrie::Node> nodes = grammar_.trie->nodes();
  at_[0] = from;
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& n = nodes[i];
    const int32_t to = matcher_.next(at_[n.depth - 1u], n.byte);
    if (to == Matcher::kDead) {
      i = static_cast<size_t>(n.end);
      continue;
    }
    if (matcher_.work() > most || matcher_.states() > kMostStates ||
        matcher_.frames() > kMostFrames)
      return false;
    at_[n.depth] = to;
    for (const int32_t id : grammar_.trie->ids(n))
      bits[static_cast<size_t>(id) / 64] |= uint64_t{1} << static_cast<size_t>(id) % 64;
    ++i;
  }
  for (const int32_t id : end_tokens_) {
    const auto t = static_cast<size_t>(id);
    if (t / 64 >= bits.size()) continue;
    bits[t / 64] &= ~(uint64_t{1} << t % 64);
    if (Matcher::whole(matcher_.ways(from))) bits[t / 64] |= uint64_t{1} << t % 64;
  }
  return true;
}

std::span<const uint64_t> TokenMasks::allowed(const Place& place) {
  if (masks_.size() >= kMostMasks || matcher_.states() > kMostStates / 2) forget();
  int32_t from = matcher_.state_of(place);
  if (from == Matcher::kDead) return {};
  if (const auto known = masks_.find(from); known != masks_.end()) return known->second;
  std::vector<uint64_t> bits(static_cast<size_t>(grammar_.trie->count() + 63) / 64);
  if (!find(from, bits)) {
    forget();
    return {};
  }
  if (std::all_of(bits.begin(), bits.end(), [](uint64_t b) { return b == 0; })) return {};
  return masks_[from] = std::move(bits);
}

bool TokenMasks::advance(Place& place, int32_t token) {
  const std::string_view bytes = grammar_.trie->bytes(token);
  if (bytes.empty()) return false;
  int32_t at = matcher_.state_of(place);
  for (const char c : bytes)
    if (at != Matcher::kDead) at = matcher_.next(at, static_cast<uint8_t>(c));
  if (at == Matcher::kDead) return false;
  place = matcher_.ways(at);
  return true;
}

}  // namespace hone
