// Keys of texts: two texts that share a key count as duplicates.
//
// exact    one key: the hash of the text in NFC and lower case, with each run of white space as a blank
// minhash  a key for each band of the MinHash signature, as text-dedup and datasketch do: words are
//          n-grams of `ngram` words in lower case; num_perm permutations; b bands of r values, chosen
//          for `threshold` by the same integrals as datasketch's (E. Zhu, V. Nathan et al.;
//          Broder 1997). Texts of fewer than `min_length` words have no key.
//
// Texts with a Jaccard similarity s share a key with the probability 1 - (1 - s^r)^b.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

struct DedupOptions {
  enum class Kind { kNone, kExact, kMinHash } kind = Kind::kNone;
  int64_t num_perm = 256;
  double threshold = 0.7;
  int64_t ngram = 5, min_length = 5;
  uint64_t seed = 42;  // of the permutations
};

using TextKey = std::array<uint64_t, 2>;

// The number of bands and of values in each that weigh false positives and negatives alike.
struct Bands {
  int64_t bands = 0, rows = 0;
  bool operator==(const Bands&) const = default;
};
Bands optimal_bands(double threshold, int64_t num_perm);

std::string normalized_for_dedup(std::string_view text);

class Fingerprints {
 public:
  explicit Fingerprints(const DedupOptions& options);
  // Replaces `keys` by those of the text.
  void keys_of(std::string_view text, std::vector<TextKey>& keys);
  Bands bands() const { return bands_; }  // of MinHash

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
