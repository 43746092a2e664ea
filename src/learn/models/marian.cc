// Marian's translation models (OPUS-MT): BART's blocks with sinusoidal positions and no norm of the
// embeddings; one vocabulary for both languages, or one for each (arXiv 1804.00344).
#include "learn/models/bart_blocks.h"

namespace hone {
namespace {

constexpr const char *kSource = "model.encoder.embed_tokens.weight",
                     *kTarget = "model.decoder.embed_tokens.weight", *kHead = "lm_head.weight";

bool shares_vocabulary(const ModelConfig& c) {
  return c.flag("share_encoder_decoder_embeddings", true);
}
bool one_embedding(const ModelConfig& c) { return shares_vocabulary(c) && c.tied; }

void declare_marian_tables(ModelGraph& g, const BartStyle& style) {
  const ModelConfig& c = g.config;
  if (shares_vocabulary(c)) bart_table(g, style, kSharedTable, c.vocab, c.tied);  // untied: unread
  if (!one_embedding(c)) {
    bart_table(g, style, kSource, c.source_vocab);
    bart_table(g, style, kTarget, c.vocab);
  }
  if (!c.tied) bart_head_matrix(g, style);
}

BartStyle marian_style(const ModelConfig& c) {
  BartStyle s;
  s.embedding_norm = false;
  s.positions = BartStyle::Positions::made;
  s.source_embedding = one_embedding(c) ? kSharedTable : kSource;
  s.target_embedding = one_embedding(c) ? kSharedTable : kTarget;
  s.head = c.tied ? s.target_embedding : kHead;
  s.declare_tables = declare_marian_tables;
  return s;
}

Status read_marian_config(ModelConfig& c) {
  HONE_TRY(read_bart_config(c));
  if (!shares_vocabulary(c)) c.vocab = HONE_TRY(c.integer("decoder_vocab_size", c.vocab));
  const int64_t padding = HONE_TRY(c.integer("pad_token_id", 58100));
  return read_bart_tokens(c, padding, padding);
}

}  // namespace

Family family_marian() {
  return bart_family<marian_style>({.name = "marian",
                                    .model_types = {{"marian", "Marian"}},
                                    .heads = {{Head::seq2seq_lm, "MTModel"}},
                                    .read_config = read_marian_config});
}

}  // namespace hone
