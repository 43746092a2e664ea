#include "learn/tasks/mlm_masks.h"

#include <algorithm>
#include <cmath>

#include "base/core/philox.h"

namespace hone {
namespace {

const uint32_t kMasked = dropout_threshold(0.8), kMaskedOrRandom = dropout_threshold(0.9);

PhiloxBlock mask_words(DropoutKey key, int64_t row, size_t position) {
  const auto r = static_cast<uint64_t>(row);
  return philox4x32({static_cast<uint32_t>(r), static_cast<uint32_t>(r >> 32),
                     static_cast<uint32_t>(position), 0},
                    key);
}

DropoutKey key_of(const MaskOptions& o, int64_t step) {
  static const uint64_t scope = scope_hash("mlm");
  return dropout_key(o.seed, static_cast<uint64_t>(step), scope);
}

bool may_be_predicted(const MaskOptions& o, int32_t id) {
  const auto k = static_cast<size_t>(id);
  return k >= o.untouched.size() || o.untouched[k] == 0;
}

// 1 is certain: 2^32 has no word of its own.
bool chosen(const MaskOptions& o, uint32_t word) {
  return o.probability >= 1 || word < dropout_threshold(o.probability);
}

}  // namespace

int64_t TokenMasker::count(int64_t step, int64_t row, std::span<const int32_t> ids) const {
  const DropoutKey key = key_of(o_, step);
  int64_t labels = 0;
  for (size_t i = 0; i < ids.size(); ++i)
    labels += may_be_predicted(o_, ids[i]) && chosen(o_, mask_words(key, row, i)[0]);
  return labels;
}

void TokenMasker::mask(int64_t step, int64_t row, std::span<int32_t> ids,
                       std::span<int32_t> labels) const {
  const DropoutKey key = key_of(o_, step);
  for (size_t i = 0; i < ids.size(); ++i) {
    labels[i] = kIgnoreLabel;
    if (!may_be_predicted(o_, ids[i])) continue;
    const PhiloxBlock words = mask_words(key, row, i);
    if (!chosen(o_, words[0])) continue;
    labels[i] = ids[i];
    if (words[1] < kMasked)
      ids[i] = o_.mask_id;
    else if (words[1] < kMaskedOrRandom)
      ids[i] = static_cast<int32_t>(
          (static_cast<uint64_t>(words[2]) * static_cast<uint64_t>(o_.vocab)) >> 32);
  }
}

int64_t label_rows_of(int64_t tokens, double probability) {
  const double mean = static_cast<double>(tokens) * probability;
  const auto most = static_cast<int64_t>(std::ceil(mean + 4 * std::sqrt(mean * (1 - probability))));
  return std::clamp<int64_t>((most + 15) / 16 * 16, 1, tokens);
}

}  // namespace hone
