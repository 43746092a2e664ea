// Turns a chat of OpenAI's API into one text, by the model's chat template. A template gets the
// same variables as in Transformers' apply_chat_template. A request may also have the keys
// that vLLM's server accepts:
//   https://docs.vllm.ai/en/latest/serving/openai_compatible_server/
#pragma once

#include "learn/chat/chat_template.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// The prompt text for a chat. `body` has the key "messages", and may have "tools", "tool_choice", "documents",
// "chat_template_kwargs", "add_generation_prompt" (default: true), "continue_final_message" and "reasoning_effort". The
// template sees special tokens as variables, such as bos_token. Errors: H3415 a value has a wrong type, a message has
// content that is not text, or the request has a chat_template; H2912 the template does not accept these messages;
// H2913 the template needs too many steps or makes too much text.
Result<std::string> chat_text(const OrderedJson& body, const ChatTemplate& chat,
                              const TokenizerParts& tokenizer);

// Whether chat_text() reads this key of the body.
bool is_chat_key(const std::string& key);

}  // namespace hone
