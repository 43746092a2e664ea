// Turns a chat of OpenAI's API into one text, by the model's chat template. A template gets the
// same variables as in Transformers' apply_chat_template; a request may have the keys that vLLM
// takes:
//   https://docs.vllm.ai/en/latest/serving/openai_compatible_server/
#pragma once

#include "learn/chat/chat_template.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// `body` has messages, and may have tools, tool_choice, documents, chat_template_kwargs,
// add_generation_prompt (default: true), continue_final_message and reasoning_effort. Special
// tokens are variables by their names: bos_token. Errors: H3415 a value of another type, a content
// that is not text, or a chat_template in the request; H2912, H2913 of the template.
Result<std::string> chat_text(const OrderedJson& body, const ChatTemplate& chat,
                              const TokenizerParts& tokenizer);

// Keys of the body that chat_text() reads.
bool is_chat_key(const std::string& key);

}  // namespace hone
