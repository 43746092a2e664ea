#include "learn/tasks/classification_parts.h"

#include "learn/models/errors.h"

namespace hone {

int64_t padding_of(const ModelConfig& config) {
  const auto padding = config.integer("pad_token_id", int64_t{1} << 40);
  return padding.ok() && *padding < config.vocab ? *padding : -1;
}

int64_t end_of_text(const ModelConfig& config) {
  const auto at = config.config.find("eos_token_id");
  if (at == config.config.end()) return -1;
  const Json& first = at->is_array() && !at->empty() ? (*at)[0] : *at;
  return first.is_number_integer() ? first.get<int64_t>() : -1;
}

void name_padding(Pretrained& model) {
  if (!reads_label_rows(model.config) || padding_of(model.config) >= 0 || !model.tokenizer) return;
  const auto padding = model.tokenizer->pad_id(), end = model.tokenizer->eos_id();
  if (padding || end) model.config.config["pad_token_id"] = padding ? *padding : *end;
}

Status refuse_encoder_decoder(const ModelConfig& config, const std::string& what) {
  if (!family_of(config).encoder) return Ok{};
  return Error(err::kHeadNotOffered,
               fmt::format("{} of the family {} are not supported", what, config.family))
      .todo("use a decoder or an encoder");
}

}  // namespace hone
