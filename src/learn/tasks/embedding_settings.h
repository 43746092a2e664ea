// The settings of text embeddings, and what they mean for a model and its rows.
#pragma once

#include "learn/harness/prepared_source.h"
#include "learn/harness/task.h"
#include "learn/losses/text_loss.h"
#include "learn/pretrained/sentence_modules.h"
#include "learn/tasks/text_rows.h"

namespace hone {

std::vector<std::string> embedding_losses();  // "" and the names of the shelf

struct EmbeddingSettings : TaskSettings {
#define HONE_SETTINGS "learn/tasks/embedding_settings.def"
#define HONE_BIND_IN_CC
#include "base/settings/fields.inc"
  void bind_own(Schema& schema) { bind(schema); }

  // The modules of the folder, if it has some, with the flags over them. Errors: H0203 no such pooling, those of
  // read_sentence_modules.
  Result<SentenceModules> modules_of(const std::string& folder) const;
  // Tokens of a text, at most.
  int64_t text_tokens(const SentenceModules& modules, const ModelConfig& config) const;
  // The loss of rows with these columns. Errors: H0210 it needs other columns.
  Result<const TextLoss*> loss_of(const TableOfTexts& table) const;
  TextLossOptions loss_options(const TextLoss& loss) const;
  // Errors: H0202 a text is not a number, H0210 a size is larger than an embedding.
  Result<Matryoshka> matryoshka(int64_t width) const;
  // The text before the texts of a column. Errors: H0202 a prompt has no '='.
  Result<std::string> prompt_of(const std::string& column) const;
};

}  // namespace hone
