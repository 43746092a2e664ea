// BART and the families of its blocks:
//   bart     learned positions, norms after the sublayers (arXiv 1910.13461)
//   mbart    norms before them; labels end in the language code (arXiv 2001.08210)
//   pegasus  the same with sinusoidal positions and no norm of the embeddings (arXiv 1912.08777)
#include "learn/models/bart_blocks.h"

namespace hone {
namespace {

constexpr const char* kShared = "model.shared.weight";

std::string type_of(const ModelConfig& c) { return c.text("model_type", "bart"); }

void declare_tables(ModelGraph& g, const BartStyle& style) {
  const ModelConfig& c = g.config;
  bart_table(g, style, kShared, c.vocab, c.tied);  // nothing reads it when untied
  if (c.tied) return;
  bart_table(g, style, style.source_embedding, c.vocab);
  bart_table(g, style, style.target_embedding, c.vocab);
  bart_head_matrix(g, style);
}

BartStyle style_of(const ModelConfig& c) {
  const std::string type = type_of(c);
  BartStyle s;
  s.pre_norm = type != "bart";
  s.embedding_norm = type != "pegasus";
  if (type == "pegasus") s.positions = BartStyle::Positions::kept;
  s.source_embedding = c.tied ? kShared : "model.encoder.embed_tokens.weight";
  s.target_embedding = c.tied ? kShared : "model.decoder.embed_tokens.weight";
  s.head = c.tied ? kShared : "lm_head.weight";
  s.declare_tables = declare_tables;
  return s;
}

Status read_config(ModelConfig& c) {
  HONE_TRY(read_bart_config(c));
  const bool pegasus = type_of(c) == "pegasus";
  HONE_TRY(read_bart_tokens(c, pegasus ? 0 : 1, pegasus ? 0 : 2));
  // mBART's decoder starts with what ends the labels, the language code.
  if (type_of(c) == "mbart") c.decoder_start = -1;
  return Ok{};
}

}  // namespace

Family family_bart() {
  return bart_family<style_of>(
      {.name = "bart",
       .model_types = {{"bart", "Bart"}, {"mbart", "MBart"}, {"pegasus", "Pegasus"}},
       .heads = {{Head::seq2seq_lm, "ForConditionalGeneration"}},
       .read_config = read_config});
}

}  // namespace hone
