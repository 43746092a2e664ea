#include "learn/data/dedup/fingerprints.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/core/hash.h"
#include "base/core/philox.h"
#include "base/store/hash.h"
#include "base/unicode/unicode.h"

namespace hone {
namespace {

// The integral of f over [from, to], by the midpoints of steps of 0.001, as datasketch does it.
template <class F>
double integral(F&& f, double from, double to) {
  constexpr double kStep = 0.001;
  double sum = 0;
  for (double x = from; x < to; x += kStep) sum += f(x + kStep / 2) * kStep;
  return sum;
}

// Mixes all bits (the finalizer of MurmurHash3).
uint64_t mixed(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdu;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53u;
  return x ^ (x >> 33);
}

TextKey key_of_bytes(std::string_view bytes) {
  const auto digest = [&] {
    Sha256 hash;
    hash.add(std::as_bytes(std::span(bytes)));
    return hash.digest();
  }();
  TextKey key;
  std::memcpy(key.data(), digest.data(), sizeof key);
  return key;
}

}  // namespace

Bands optimal_bands(double threshold, int64_t num_perm) {
  Bands best;
  double least = 2;
  for (int64_t b = 1; b <= num_perm; ++b)
    for (int64_t r = 1; r <= num_perm / b; ++r) {
      const auto apart = [&](double s) {
        return std::pow(1 - std::pow(s, static_cast<double>(r)), static_cast<double>(b));
      };
      const double wrong = 0.5 * integral([&](double s) { return 1 - apart(s); }, 0, threshold) +
                           0.5 * integral(apart, threshold, 1);
      if (wrong >= least) continue;
      least = wrong;
      best = {b, r};
    }
  return best;
}

std::string normalized_for_dedup(std::string_view text) {
  std::string lower, out;
  if (surely_nfc(text))
    append_lowercase(text, lower);
  else
    append_lowercase(normalize_text(text, NormalForm::kC), lower);
  const uint8_t* classes = char_classes();
  bool blank = false;
  for (const char *p = lower.data(), *end = p + lower.size(); p < end;) {
    const Char c = decode_char(p, end);
    if (class_of(classes, c.code) & kSpace) {
      blank = !out.empty();
    } else {
      if (blank) out += ' ';
      blank = false;
      out.append(p, static_cast<size_t>(c.length));
    }
    p += c.length;
  }
  return out;
}

Fingerprints::Fingerprints(const DedupOptions& options) : options_(options) {
  if (options.kind != DedupOptions::Kind::kMinHash) return;
  bands_ = optimal_bands(options.threshold, options.num_perm);
  const DropoutKey key{static_cast<uint32_t>(options.seed),
                       static_cast<uint32_t>(options.seed >> 32)};
  for (uint32_t i = 0; i < static_cast<uint32_t>(bands_.bands * bands_.rows); ++i) {
    const PhiloxBlock random = philox4x32({i, 0, 0, 0}, key);
    factors_.push_back((uint64_t{random[0]} << 32 | random[1]) | 1);
    offsets_.push_back(uint64_t{random[2]} << 32 | random[3]);
  }
  least_.resize(factors_.size());
}

void Fingerprints::keys_of(std::string_view text, std::vector<TextKey>& keys) {
  keys.clear();
  if (options_.kind == DedupOptions::Kind::kExact)
    keys.push_back(key_of_bytes(normalized_for_dedup(text)));
  else if (options_.kind == DedupOptions::Kind::kMinHash)
    add_band_keys(text, keys);
}

void Fingerprints::add_band_keys(std::string_view text, std::vector<TextKey>& keys) {
  lower_.clear();
  append_lowercase(text, lower_);
  words_.clear();
  bool inside = false;
  for (const char *p = lower_.data(), *end = p + lower_.size(); p < end;) {
    const Char c = decode_char(p, end);
    const bool is_word = is_word_char(c.code);
    if (is_word && !inside) words_.push_back(kFnvBasis);
    if (is_word) words_.back() = fnv1a(words_.back(), c.code);
    inside = is_word;
    p += c.length;
  }
  const auto count = static_cast<int64_t>(words_.size());
  if (count == 0 || count < options_.min_length) return;
  const int64_t n = std::min(options_.ngram, count);
  std::fill(least_.begin(), least_.end(), UINT32_MAX);
  for (int64_t begin = 0; begin + n <= count; ++begin) {
    uint64_t hash = kFnvBasis;
    for (int64_t i = begin; i < begin + n; ++i) hash = fnv1a(hash, words_[static_cast<size_t>(i)]);
    hash = mixed(hash);
    // Multiply-shift: the upper half of a x + b is a 2-universal hash (Dietzfelbinger et al. 1997).
    for (size_t k = 0; k < least_.size(); ++k)
      least_[k] =
          std::min(least_[k], static_cast<uint32_t>((factors_[k] * hash + offsets_[k]) >> 32));
  }
  for (int64_t b = 0; b < bands_.bands; ++b) {
    std::string band(reinterpret_cast<const char*>(&b), sizeof b);
    band.append(reinterpret_cast<const char*>(least_.data() + b * bands_.rows),
                static_cast<size_t>(bands_.rows) * sizeof(uint32_t));
    keys.push_back(key_of_bytes(band));
  }
}

}  // namespace hone
