// The settings of text embeddings, and the values that follow from them for a model and its rows.
#pragma once

#include "learn/harness/prepared_source.h"
#include "learn/harness/task.h"
#include "learn/losses/text_loss.h"
#include "learn/pretrained/sentence_modules.h"
#include "learn/tasks/text_rows.h"

namespace hone {

std::vector<std::string>
embedding_losses();  // the values of --loss: "" and the names of all text losses

struct EmbeddingSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/embedding_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { bind(schema); }

  // The sentence-transformers modules of the model's folder, or the defaults if it has none. --pooling_mode,
  // --normalize_embeddings and --max_seq_length take precedence over the folder. Errors: H0203 --pooling_mode names an
  // unknown pooling; those of read_sentence_modules.
  Result<SentenceModules> modules_of(const std::string& folder) const;
  // The largest number of tokens of a text.
  int64_t text_tokens(const SentenceModules& modules, const ModelConfig& config) const;
  // The loss of --loss; by default CoSENTLoss for rows with a label, else MultipleNegativesRankingLoss. Never null.
  // Errors: H0210 the table does not have the number of text columns or labels that the loss needs, or a column has
  // lists of texts.
  Result<const TextLoss*> loss_of(const TableOfTexts& table) const;
  // The options from --similarity_scale, --margin and --distance_metric; if unset, the defaults of the loss.
  TextLossOptions loss_options(const TextLoss& loss) const;
  // The sizes of --matryoshka_dims, the largest first, with their weights. `width`: size of an embedding. Errors:
  // H0202 an element of --matryoshka_dims or --matryoshka_weights is not a positive number; H0210 a size is not whole
  // or is larger than `width`, or the number of weights differs from the number of sizes.
  Result<Matryoshka> matryoshka(int64_t width) const;
  // The prompt for the texts of a column, from --prompts (COLUMN=TEXT, or =TEXT for all columns); if several fit, the
  // last one. "": none. Errors: H0202 a prompt has no '='.
  Result<std::string> prompt_of(const std::string& column) const;
};

}  // namespace hone
