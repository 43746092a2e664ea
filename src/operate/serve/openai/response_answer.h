// Answers of OpenAI's route /v1/responses: a whole object, or a stream of server-sent events.
//   https://platform.openai.com/docs/api-reference/responses-streaming
#pragma once

#include "operate/serve/openai/model_asked.h"
#include "operate/serve/openai/openai_logprobs.h"

namespace hone {

// The facts of a request that its answer needs.
struct ResponseAsked {
  OpenaiSettings settings;
  ModelSet::Model model;
  OrderedJson body;            // body of the request; the answer repeats some of its keys
  std::string id, message_id;  // ids of the response and of its one message
  int64_t created = 0;         // seconds since 1970

  WebAnswer failed(const Error& e) const;
};

// Converts the keys "instructions" and "input" of a request body to the messages of a chat. Error H3415: an item of
// "input" is not a message, or has content that is not text.
Result<OrderedJson> response_messages(const OrderedJson& body);

// The body of a whole answer.
std::string whole_response(const ResponseAsked& a, const TextAnswer& answer);
// Passes the query to the model, and returns at once. The answer is sent as server-sent events.
void stream_response(const std::shared_ptr<WebReply>& reply,
                     const std::shared_ptr<ResponseAsked>& asked, TextQuery query);

}  // namespace hone
