// Encodes rows of instruction tuning as tokens and labels, by the rules of TRL's `trl sft`. Chat templates are in
// Jinja.
#pragma once

#include <optional>

#include "learn/chat/chat_template.h"
#include "learn/data/rows/instruction_rows.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The texts of chat templates; "": none.
struct ChatTemplates {
  std::string chat, tools;  // tools: the template for chats with tools; "": `chat` is used
};
// The templates that TRL's --chat_template_path gives. `path` is one of these:
//   ""                           the templates of `tokenizer`
//   a text with "{{" or "{%"     the text itself is the template
//   a path to a .jinja or .j2 file
//   any other path               a folder with a tokenizer: the templates of that tokenizer
// Errors: those of reading the file or folder; H2427 the folder has no chat template.
Result<ChatTemplates> chat_templates(const std::string& path, const Tokenizer& tokenizer);

// Each member is the value of the setting with its name. All except alpaca_prompt have TRL's meaning.
struct InstructionOptions {
  int64_t max_length = 1024;  // the largest number of tokens of a row; longer rows are cut
  // True: in rows with a prompt and a completion, tokens of the prompt have no labels. nullopt: true.
  std::optional<bool> completion_only_loss;
  bool assistant_only_loss = false;  // true: in chats, only messages of the assistant have labels
  // Whether rows in Alpaca's form (instruction, input, output) get Alpaca's prompt: "auto" (only if the model has no
  // chat template), "always" or "never".
  std::string alpaca_prompt = "auto";
};

struct EncodedInstruction {
  std::vector<int32_t> ids;
  std::vector<int32_t> labels;  // for each token its id, or kIgnoreLabel if it has no label
  bool cut = false;             // the row was longer than max_length
};

class InstructionEncoder {
 public:
  // `chat_template`, `tool_chat_template`: the texts of the templates; "": none. Errors: H2911 a template cannot be
  // read.
  static Result<InstructionEncoder> make(const Tokenizer& tokenizer,
                                         const std::string& chat_template,
                                         const std::string& tool_chat_template,
                                         const InstructionOptions& options);

  // Encodes a row. Several threads may call this at the same time. Errors: H2911 to H2913 of the chat template; H2427
  // the row is a chat and there is no chat template. With assistant_only_loss also: H2427 the row is not a chat, or its
  // answers cannot be found in the rendered text; H2123 the chat has no message of the assistant.
  Result<EncodedInstruction> encode(const InstructionRow& row) const;
  // Whether the row is encoded without a chat template, because it is not a chat or gets Alpaca's prompt.
  bool is_plain(const InstructionRow& row) const { return !row.is_chat() || has_own_prompt(row); }

 private:
  InstructionEncoder(const Tokenizer& tokenizer, const InstructionOptions& options);
  bool has_own_prompt(const InstructionRow& row) const;  // the row gets Alpaca's prompt
  Result<ChatText> render(const OrderedJson& messages, const InstructionRow& row,
                          bool prompts) const;
  Result<std::vector<ChatSpan>> answers(const InstructionRow& row, const OrderedJson& messages,
                                        const ChatText& whole) const;
  // Sets learn[i] to true for each token of `text` that is in one of the spans.
  void mark(const std::string& text, std::span<const ChatSpan> spans, std::span<const int32_t> ids,
            std::vector<bool>& learn) const;

  Tokenizer tokenizer_;
  std::optional<ChatTemplate> chat_, tool_chat_;
  OrderedJson variables_;  // special tokens by their names
  InstructionOptions options_;
};

}  // namespace hone
