// The tokens that may follow a text so that it can still become a text of a language. For a
// sequence:
//   TokenMasks masks({automaton, trie}, {eos});
//   TokenMasks::Place place = masks.begin();
//   if (!masks.allowed(place, bits)) ...          // too ambiguous, or no token fits
//   masks.advance(place, token);
//   if (Matcher::over(place)) ...                 // whole, and nothing can follow
// End tokens are allowed where the text is whole, tokens without bytes never. One thread uses it.
#pragma once

#include "learn/grammar/matcher.h"
#include "learn/grammar/token_trie.h"

namespace hone {

// A language over the tokens of a vocabulary; threads may share it.
struct TokenGrammar {
  std::shared_ptr<const Automaton> automaton;
  std::shared_ptr<const TokenTrie> trie;
};

class TokenMasks {
 public:
  using Place = Matcher::Ways;  // of a sequence; any number of them at a time

  TokenMasks(TokenGrammar grammar, std::span<const int32_t> end_tokens);

  const Place& begin() const { return matcher_.begin(); }
  // The bits of tokens that may follow, 64 a word: valid until the next call. Empty: none does, or
  // the language is so ambiguous that the search was given up.
  std::span<const uint64_t> allowed(const Place& place);
  // False: the token may not follow.
  bool advance(Place& place, int32_t token);

  static bool has(std::span<const uint64_t> bits, int32_t token) {
    const auto i = static_cast<size_t>(token);
    return i / 64 < bits.size() && (bits[i / 64] >> i % 64 & 1) != 0;
  }

 private:
  // Bounds of one search, for languages from outside.
  static constexpr int64_t kMostWork = 1 << 19;  // ways that are followed
  static constexpr size_t kMostStates = 4096, kMostMasks = 64, kMostFrames = 1 << 18;
  bool find(int32_t from, std::vector<uint64_t>& bits);
  void forget();

  TokenGrammar grammar_;
  Matcher matcher_;
  std::vector<int32_t> end_tokens_;
  std::unordered_map<int32_t, std::vector<uint64_t>> masks_;  // by the matcher's state
  std::vector<int32_t> at_;                                   // states by depth of the walk
};

}  // namespace hone
