// The encoder of T5, mT5 and UMT5 (t5.cc) alone, as Transformers' T5EncoderModel: its hidden states are embeddings of
// texts, as in Sentence-T5 (Ni et al. 2021, arXiv 2108.08877).
#include "learn/models/t5_blocks.h"
#include "learn/models/t5_gguf.h"

namespace hone {
namespace {

const GgufLayout* gguf_of_t5_encoder(T5Kind kind) {
  static const GgufLayout layouts[] = {t5_gguf(T5Kind::t5, true), t5_gguf(T5Kind::mt5, true),
                                       t5_gguf(T5Kind::umt5, true)};
  return &layouts[static_cast<int>(kind)];
}

}  // namespace

Family family_t5_encoder() {
  return {.name = "t5_encoder",
          .model_types = {{"t5", "T5", "", {"q", "v"}, gguf_of_t5_encoder(T5Kind::t5)},
                          {"mt5", "MT5", "", {"q", "v"}, gguf_of_t5_encoder(T5Kind::mt5)},
                          {"umt5", "UMT5", "", {}, gguf_of_t5_encoder(T5Kind::umt5)}},
          .heads = {{Head::none, "EncoderModel"}},
          .read_config = [](ModelConfig& c) { return read_t5_config(c, true); },
          .body = t5_encoder,
          .dropouts = {"dropout_rate"},
          .unread = {".EncDecAttention.relative_attention_bias.weight"},
          .module_order = std::vector<std::string>(),
          .safe_in_f16 = false};  // as T5
}

}  // namespace hone
