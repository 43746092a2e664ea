// Rows of instructions as tokens, and the tokens that are learnt, as in trl sft.
#pragma once

#include <optional>

#include "learn/chat/chat_template.h"
#include "learn/data/rows/instruction_rows.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

struct ChatTemplates {
  std::string chat, tools;
};
// TRL's --chat_template_path: a file, or a folder with a tokenizer; here also the text of a template, which
// has "{{" or "{%"; "": those of the tokenizer. Errors:
// those of the file; H2427 a folder without a chat template.
Result<ChatTemplates> chat_templates(const std::string& path, const Tokenizer& tokenizer);

struct InstructionOptions {
  int64_t max_length = 1024;
  std::optional<bool> completion_only_loss;
  bool assistant_only_loss = false;
  std::string alpaca_prompt = "auto";  // or "always", "never"
};

struct EncodedInstruction {
  std::vector<int32_t> ids;
  std::vector<int32_t> labels;  // one for each id: the id, or kIgnoreLabel if it is not learnt
  bool cut = false;
};

class InstructionEncoder {
 public:
  // `chat_template`: its source; "": the model has none.
  static Result<InstructionEncoder> make(const Tokenizer& tokenizer,
                                         const std::string& chat_template,
                                         const std::string& tool_chat_template,
                                         const InstructionOptions& options);

  // Any number of threads may call it. Errors: H2911 to H2913 of the template, H2427 answers that
  // cannot be found, H2123 a chat without any.
  Result<EncodedInstruction> encode(const InstructionRow& row) const;
  // Whether the row becomes tokens without a chat template.
  bool is_plain(const InstructionRow& row) const { return !row.is_chat() || has_own_prompt(row); }

 private:
  InstructionEncoder(const Tokenizer& tokenizer, const InstructionOptions& options);
  bool has_own_prompt(const InstructionRow& row) const;  // Alpaca's
  Result<ChatText> render(const OrderedJson& messages, const InstructionRow& row,
                          bool prompts) const;
  Result<std::vector<ChatSpan>> answers(const InstructionRow& row, const OrderedJson& messages,
                                        const ChatText& whole) const;
  // Sets learn[i] for the tokens that the spans of the text have.
  void mark(const std::string& text, std::span<const ChatSpan> spans, std::span<const int32_t> ids,
            std::vector<bool>& learn) const;

  Tokenizer tokenizer_;
  std::optional<ChatTemplate> chat_, tool_chat_;
  OrderedJson variables_;  // special tokens by their names
  InstructionOptions options_;
};

}  // namespace hone
