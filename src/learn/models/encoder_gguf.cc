#include "learn/models/encoder_gguf.h"

#include "learn/models/activations.h"

namespace hone {

GgufLayout encoder_gguf(const std::string& architecture, const std::string& tokenizer,
                        const EncoderStyle& style) {
  const EncoderKeys& keys = style.keys;
  const EncoderNames& names = style.names;
  GgufLayout g{.architecture = architecture,
               .tokenizer = tokenizer,
               .keys = {{"block_count", keys.layers},
                        {"context_length", keys.positions},
                        {"embedding_length", keys.hidden},
                        {"feed_forward_length", keys.inner},
                        {"attention.head_count", keys.heads},
                        {.gguf = "attention.layer_norm_epsilon",
                         .config = keys.norm_eps,
                         .is_real = true,
                         .usual = style.norm_eps},
                        {"vocab_size", "vocab_size"}},
               .needed = {keys.layers, keys.hidden, keys.inner, keys.heads, keys.positions},
               .inner = keys.inner,
               .once = {{"token_embd", "embeddings.word_embeddings"},
                        {"token_embd_norm", style.embeddings_norm}},
               .of_layer = {{"attn_output", names.attended},
                            {"attn_output_norm", names.attended_norm},
                            {"ffn_down", names.down},
                            {"layer_output_norm", names.norm}},
               .layers = style.layers,
               .head = Head::none};
  if (style.positions) g.once.push_back({"position_embd", "embeddings.position_embeddings"});
  // llama.cpp wants a number of types of models without them too.
  using Values = std::vector<int64_t> (*)(const ModelConfig& c);
  const Values one = [](const ModelConfig&) { return std::vector<int64_t>{1}; };
  const Values types = [](const ModelConfig& c) {
    return std::vector{c.integer("type_vocab_size", 2).value()};
  };
  g.keys.push_back({.gguf = "token_type_count",
                    .config = style.token_types ? "type_vocab_size" : "",
                    .values = style.token_types ? types : one,
                    .of_tokenizer = true});
  if (style.token_types) g.once.push_back({"token_types", "embeddings.token_type_embeddings"});
  if (style.attend == nullptr)
    g.of_layer.insert(g.of_layer.end(),
                      {{"attn_q", names.query}, {"attn_k", names.key}, {"attn_v", names.value}});
  if (style.inner == nullptr) g.of_layer.push_back({"ffn_up", names.up});
  return g;
}

std::string encoder_unwritable(const ModelConfig& c, const EncoderStyle& style) {
  const std::string act = hidden_act_of(c, style);
  if (activation_kind(act) != activation_kind(style.usual_act))
    return fmt::format("its activation is {}", act);
  if (embedding_width(c) != c.hidden) return "its tables have an embedding_size of their own";
  return "";
}

}  // namespace hone
