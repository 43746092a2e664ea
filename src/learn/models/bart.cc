// BART and the families of its blocks:
//   bart     learned positions, norms after the sublayers (arXiv 1910.13461)
//   mbart    norms before them; labels end in the language code (arXiv 2001.08210)
//   pegasus  the same with sinusoidal positions and no norm of the embeddings (arXiv 1912.08777)
#include "learn/models/bart_blocks.h"

namespace hone {
namespace {

std::string bart_type(const ModelConfig& c) { return c.text("model_type", "bart"); }

void declare_bart_tables(ModelGraph& g, const BartStyle& style) {
  const ModelConfig& c = g.config;
  bart_table(g, style, kSharedTable, c.vocab, c.tied);  // nothing reads it when untied
  if (c.tied) return;
  bart_table(g, style, style.source_embedding, c.vocab);
  bart_table(g, style, style.target_embedding, c.vocab);
  if (c.head == Head::seq2seq_lm) bart_head_matrix(g, style);
}

BartStyle bart_style(const ModelConfig& c) {
  const std::string type = bart_type(c);
  BartStyle s;
  s.pre_norm = type != "bart";
  s.embedding_norm = type != "pegasus";
  if (type == "pegasus") s.positions = BartStyle::Positions::kept;
  s.source_embedding = c.tied ? kSharedTable : "model.encoder.embed_tokens.weight";
  s.target_embedding = c.tied ? kSharedTable : "model.decoder.embed_tokens.weight";
  s.head = c.tied ? kSharedTable : "lm_head.weight";
  s.declare_tables = declare_bart_tables;
  return s;
}

Status read_any_bart_config(ModelConfig& c) {
  HONE_TRY(read_bart_config(c));
  const bool pegasus = bart_type(c) == "pegasus";
  HONE_TRY(read_bart_tokens(c, pegasus ? 0 : 1, pegasus ? 0 : 2));
  // mBART's decoder starts with what ends the labels, the language code.
  if (bart_type(c) == "mbart") c.decoder_start = -1;
  return Ok{};
}

}  // namespace

Family family_bart() {
  return bart_family<bart_style>(
      {.name = "bart",
       .model_types = {{"bart", "Bart", "", {"q_proj", "v_proj"}},
                       {"mbart", "MBart"},
                       {"pegasus", "Pegasus"}},
       .heads = {{Head::seq2seq_lm, "ForConditionalGeneration"},
                 {Head::sequence_classification, "ForSequenceClassification", {"bart", "mbart"}}},
       .read_config = read_any_bart_config});
}

}  // namespace hone
