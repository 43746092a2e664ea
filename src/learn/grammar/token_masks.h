// Computes which tokens may follow a generated text so that it can still become a text of a language. For a sequence:
//   TokenMasks masks({automaton, trie}, {eos});
//   TokenMasks::Place place = masks.begin();
//   const auto bits = masks.allowed(place);       // empty: too ambiguous, or no token fits
//   if (TokenMasks::has(bits, token)) masks.advance(place, token);
//   if (Matcher::over(place)) ...                 // the text is complete, and nothing can follow
// End tokens are allowed only if the text is complete. Tokens without bytes are never allowed. Use each TokenMasks in
// one thread only.
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
  // The state of one sequence. One TokenMasks serves all sequences, each with a Place of its own.
  using Place = Matcher::Ways;

  // `end_tokens` are the ids of the tokens that end a sequence, such as EOS.
  TokenMasks(TokenGrammar grammar, std::span<const int32_t> end_tokens);

  const Place& begin() const { return matcher_.begin(); }
  // The tokens that may follow as bits: bit id % 64 of word id / 64. Valid until the next call. Empty: no token may
  // follow, or the language is so ambiguous that the search was given up.
  std::span<const uint64_t> allowed(const Place& place);
  // Moves `place` over the bytes of a token. False if the token may not follow or has no bytes; `place` is then
  // unchanged.
  bool advance(Place& place, int32_t token);

  // Whether the bit of a token is set.
  static bool has(std::span<const uint64_t> bits, int32_t token) {
    const auto i = static_cast<size_t>(token);
    return i / 64 < bits.size() && (bits[i / 64] >> i % 64 & 1) != 0;
  }

 private:
  // Limits of one search, since schemas come from unknown users.
  static constexpr int64_t kMostWork = 1 << 19;  // ways that are followed (Matcher::work)
  static constexpr size_t kMostStates = 4096, kMostMasks = 64, kMostFrames = 1 << 18;
  bool find(int32_t from, std::vector<uint64_t>& bits);
  void forget();

  TokenGrammar grammar_;
  Matcher matcher_;
  std::vector<int32_t> end_tokens_;
  std::unordered_map<int32_t, std::vector<uint64_t>> masks_;  // by state of the matcher
  // State of the matcher by depth in the trie.
  std::vector<int32_t> at_;
};

}  // namespace hone
