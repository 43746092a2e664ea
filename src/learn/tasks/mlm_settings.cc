#include "learn/tasks/mlm_settings.h"

#include <algorithm>

#include "learn/harness/errors.h"

namespace hone {

int64_t MlmSettings::row_tokens(const ModelConfig& config) const {
  return std::min(max_seq_length > 0 ? max_seq_length : int64_t{1024}, config.max_positions);
}

Result<MaskOptions> mask_options(const MlmSettings& s, const Pretrained& model) {
  const std::optional<Tokenizer>& tokenizer = model.tokenizer;
  if (!tokenizer || !tokenizer->mask_id())
    return Error(err::kNoTokenizer,
                 tokenizer ? fmt::format("the tokenizer of '{}' has no mask token", model.name)
                           : fmt::format("the model '{}' has no tokenizer", model.name))
        .todo("masked language modelling needs a tokenizer with a mask token: --tokenizer_name");
  MaskOptions o;
  o.probability = s.mlm_probability;
  o.seed = static_cast<uint64_t>(s.seed);
  o.mask_id = *tokenizer->mask_id();
  o.vocab = static_cast<int32_t>(std::min(tokenizer->vocab_size(), model.config.vocab));
  o.untouched.resize(static_cast<size_t>(tokenizer->id_limit()));
  // An unknown word is a word of the text.
  for (int32_t id = 0; id < tokenizer->id_limit(); ++id)
    o.untouched[static_cast<size_t>(id)] =
        tokenizer->is_special(id) && tokenizer->unk_id() != id ? 1 : 0;
  return o;
}

#define HONE_BIND MlmSettings::bind
#define HONE_SETTINGS "learn/tasks/mlm_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
