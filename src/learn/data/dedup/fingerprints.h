// Computes the keys of a text for deduplication: two texts that share a key count as duplicates.
//
// exact    One key: the hash of normalized_for_dedup(text).
// minhash  One key for each band of the MinHash signature, as in the libraries text-dedup and datasketch. The
//          signature has num_perm values, computed from the n-grams of `ngram` words in lower case (Broder 1997). It is
//          cut into b bands of r values. optimal_bands chooses b and r for `threshold`, by the integrals of datasketch
//          (E. Zhu, V. Nathan et al.). A text of fewer than `min_length` words has no key.
//
// With minhash, two texts whose n-grams have the Jaccard similarity s share a key with probability 1 - (1 - s^r)^b.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct DedupOptions {
  enum class Kind { kNone, kExact, kMinHash } kind = Kind::kNone;  // kNone: texts have no keys
  // The members below are only for kMinHash.
  int64_t num_perm = 256;  // the number of values in a signature; b * r is at most this
  // The Jaccard similarity from which two texts should share a key.
  double threshold = 0.7;
  int64_t ngram = 5, min_length = 5;  // both in words
  uint64_t seed = 42;                 // seed of the permutations
};

using TextKey = std::array<uint64_t, 2>;

// The number of bands (b), and the number of values in each band (r, the member `rows`).
struct Bands {
  int64_t bands = 0, rows = 0;
  bool operator==(const Bands&) const = default;
};
// Chooses the bands for which the sum of two integrals over the similarity is least: the probability of a shared key
// below `threshold` (false positives), and that of no shared key above it (false negatives).
Bands optimal_bands(double threshold, int64_t num_perm);

// The text in NFC and lower case. Each run of white space becomes one blank; white space at both ends is removed.
std::string normalized_for_dedup(std::string_view text);

class Fingerprints {
 public:
  explicit Fingerprints(const DedupOptions& options);
  // Replaces the contents of `keys` by the keys of the text.
  void keys_of(std::string_view text, std::vector<TextKey>& keys);
  Bands bands() const { return bands_; }  // {0, 0} unless the kind is kMinHash

 private:
  void add_band_keys(std::string_view text, std::vector<TextKey>& keys);

  DedupOptions options_;
  Bands bands_;
  std::vector<uint64_t> factors_, offsets_;  // of the permutations
  std::vector<uint32_t> least_;              // the signature
  std::vector<uint64_t> words_;              // hashes of the text's words
  std::string lower_;
};

}  // namespace hone
