#include "learn/tasks/sft_encode.h"

#include <algorithm>

#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/data/rows/errors.h"
#include "learn/data/rows/token_rows.h"
#include "learn/tasks/errors.h"
#include "learn/tokenizers/load/load.h"
#include "learn/tokenizers/token_variables.h"

namespace hone {
namespace {

size_t common_prefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first -
                             a.begin());
}

std::string with_end(std::string text, const std::string& eos) {
  return text.ends_with(eos) ? text : text + eos;
}

size_t end_without_spaces(std::string_view text, size_t from, size_t to) {
  while (to > from && std::string_view(" \t\r\n").find(text[to - 1]) != std::string_view::npos)
    --to;
  return to;
}

Error no_template() {
  return Error(err::kChatAnswers, "the model has no chat template, and the rows are chats")
      .todo("name one by --chat_template_path, or start from the model's instruct version");
}

}  // namespace

Result<ChatTemplates> chat_templates(const std::string& path, const Tokenizer& tokenizer) {
  if (path.empty())
    return ChatTemplates{tokenizer.chat_template(), tokenizer.parts().tool_chat_template};
  if (path.find("{{") != path.npos || path.find("{%") != path.npos) return ChatTemplates{path, ""};
  if (path.ends_with(".jinja") || path.ends_with(".j2"))
    return ChatTemplates{HONE_TRY(file_store().read(path)), ""};
  const Tokenizer other = HONE_TRY(load_tokenizer(path));
  if (other.chat_template().empty())
    return Error(err::kChatAnswers, "there is no chat template")
        .at(fmt::format("--chat_template_path {}", path))
        .todo("name a .jinja file, or the folder of a model that has one");
  return ChatTemplates{other.chat_template(), other.parts().tool_chat_template};
}

InstructionEncoder::InstructionEncoder(const Tokenizer& tokenizer,
                                       const InstructionOptions& options)
    : tokenizer_(tokenizer), variables_(token_variables(tokenizer.parts())), options_(options) {}

Result<InstructionEncoder> InstructionEncoder::make(const Tokenizer& tokenizer,
                                                    const std::string& chat_template,
                                                    const std::string& tool_chat_template,
                                                    const InstructionOptions& options) {
  InstructionEncoder e(tokenizer, options);
  if (!chat_template.empty()) e.chat_ = HONE_TRY(ChatTemplate::parse(chat_template));
  if (!tool_chat_template.empty()) e.tool_chat_ = HONE_TRY(ChatTemplate::parse(tool_chat_template));
  return e;
}

Result<ChatText> InstructionEncoder::render(const OrderedJson& messages, const InstructionRow& row,
                                            bool prompts) const {
  const bool tools = !row.tools.is_null() && !row.tools.empty();
  const std::optional<ChatTemplate>& chat = tools && tool_chat_ ? tool_chat_ : chat_;
  OrderedJson v = variables_;
  if (row.kwargs.is_object()) v.update(row.kwargs);
  v["messages"] = chat_messages(messages);
  v["tools"] = tools ? row.tools : OrderedJson();
  v["documents"] = nullptr;
  v["add_generation_prompt"] = prompts;
  return chat->render(v);
}

// A template without {% generation %} says by what it makes of the first messages where an answer
// begins, and where it ends.
Result<std::vector<ChatSpan>> InstructionEncoder::answers(const InstructionRow& row,
                                                          const OrderedJson& messages,
                                                          const ChatText& whole) const {
  if (chat_->marks_answers()) return whole.generated;
  std::vector<ChatSpan> spans;
  OrderedJson first = OrderedJson::array();
  const std::string& text = whole.text;
  for (const OrderedJson& m : messages) {
    if (text_at(m, "role") != "assistant") {
      first.push_back(m);
      continue;
    }
    const auto cannot = [&] {
      return Error(err::kChatAnswers,
                   fmt::format("the answer cannot be found in message {} as the chat template "
                               "writes it",
                               first.size() + 1))
          .todo(
              "mark answers in the template by {% generation %} and {% endgeneration %}, and name "
              "it by --chat_template_path; or give rows with prompt and completion");
    };
    const auto before = render(first, row, true);
    if (!before.ok() || !text.starts_with(before->text)) return cannot();
    first.push_back(m);
    const size_t from = before->text.size();
    const auto after = render(first, row, false);
    if (!after.ok() || after->text.size() < from) return cannot();
    if (text.starts_with(after->text)) {
      spans.push_back({from, end_without_spaces(text, from, after->text.size())});
      continue;
    }
    // Later turns change how this one is written: what ends it alone ends it here too.
    const std::string content = std::string(trim(text_at(m, "content")));
    const size_t here = text.find(content, from), alone = after->text.rfind(content);
    if (content.empty() || here == std::string::npos || alone == std::string::npos) return cannot();
    const std::string_view tail = std::string_view(after->text).substr(alone + content.size());
    const size_t to = here + content.size();
    if (!std::string_view(text).substr(to).starts_with(tail)) return cannot();
    spans.push_back({from, end_without_spaces(text, from, to + tail.size())});
  }
  return spans;
}

void InstructionEncoder::mark(const std::string& text, std::span<const ChatSpan> spans,
                              std::span<const int32_t> ids, std::vector<bool>& learn) const {
  // Ends of the tokens' bytes, while the tokens' bytes are known.
  std::string decoded;
  std::vector<size_t> ends;
  Tokenizer::DecodeState state;
  for (const int32_t id : ids) {
    tokenizer_.decode_next(id, false, state, decoded);
    ends.push_back(decoded.size());
  }
  const bool exact = decoded == text;
  for (const ChatSpan& span : spans) {
    if (exact) {
      for (size_t i = 0, begin = 0; i < ids.size(); begin = ends[i++])
        if (ends[i] > span.from && begin < span.to) learn[i] = true;
      continue;
    }
    // Else by the tokens of the text before the span, and with it.
    const auto tokens = [&](size_t bytes) {
      return tokenizer_.encode(std::string_view(text).substr(0, bytes),
                               {.add_special_tokens = false});
    };
    const std::vector<int32_t> with = tokens(span.to);
    const size_t begin = common_prefix(tokens(span.from), ids);
    size_t end = common_prefix(with, ids);
    if (end < with.size()) ++end;  // a token that continues after the span
    for (size_t i = begin; i < std::min(end, ids.size()); ++i) learn[i] = true;
  }
}

bool InstructionEncoder::has_own_prompt(const InstructionRow& row) const {
  return !row.plain_prompt.empty() &&
         (options_.alpaca_prompt == "always" || (options_.alpaca_prompt == "auto" && !chat_));
}

Result<EncodedInstruction> InstructionEncoder::encode(const InstructionRow& row) const {
  EncodedInstruction out;
  std::vector<bool> learn;
  const bool pair = !row.prompt.is_null();
  const bool completion_only = pair && options_.completion_only_loss.value_or(true);
  std::vector<int32_t> prompt;
  const bool alpaca = has_own_prompt(row);
  if (row.is_chat() && !alpaca) {
    if (!chat_) return no_template();
    OrderedJson messages = pair ? row.prompt : OrderedJson::array();
    messages.insert(messages.end(), row.answer.begin(), row.answer.end());
    const ChatText whole = HONE_TRY(render(messages, row, false));
    out.ids = tokenizer_.encode(whole.text, {.add_special_tokens = false});
    learn.resize(out.ids.size(), !options_.assistant_only_loss);
    if (options_.assistant_only_loss) {
      const std::vector<ChatSpan> spans = HONE_TRY(answers(row, messages, whole));
      if (spans.empty())
        return Error(err::kEmptyField, "the chat has no message of the assistant")
            .todo("take the row out, or leave --assistant_only_loss out");
      mark(whole.text, spans, out.ids, learn);
    }
    if (completion_only)
      prompt = tokenizer_.encode(HONE_TRY(render(row.prompt, row, true)).text,
                                 {.add_special_tokens = false});
  } else {
    if (options_.assistant_only_loss)
      return Error(err::kChatAnswers, "the row is not a chat, so that nobody is the assistant")
          .todo("leave --assistant_only_loss out");
    const std::string before = alpaca ? row.plain_prompt
                               : pair ? row.prompt.get<std::string>()
                                      : "";
    const std::string answer = alpaca ? row.plain_answer : row.answer.get<std::string>();
    out.ids = tokenizer_.encode(before + with_end(answer, tokenizer_.parts().eos));
    learn.resize(out.ids.size(), true);
    if (completion_only) prompt = tokenizer_.encode(before);
  }
  // The completion begins where the tokens of the prompt alone and of both differ.
  for (size_t i = 0, n = common_prefix(prompt, out.ids); i < n; ++i) learn[i] = false;
  const auto most = static_cast<size_t>(options_.max_length);
  if ((out.cut = out.ids.size() > most)) out.ids.resize(most);
  out.labels.resize(out.ids.size());
  for (size_t i = 0; i < out.ids.size(); ++i) out.labels[i] = learn[i] ? out.ids[i] : kIgnoreLabel;
  return out;
}

}  // namespace hone
