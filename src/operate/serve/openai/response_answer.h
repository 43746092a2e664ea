// Answers of /v1/responses: an object at once, or the events of a stream.
//   https://platform.openai.com/docs/api-reference/responses-streaming
#pragma once

#include "operate/serve/openai/model_asked.h"
#include "operate/serve/openai/openai_logprobs.h"

namespace hone {

struct ResponseAsked {
  OpenaiSettings settings;
  ModelSet::Model model;
  OrderedJson body;  // the request; the answer repeats some of its keys
  std::string id, message_id;
  int64_t created = 0;

  WebAnswer failed(const Error& e) const;
};

// `instructions` and `input` as the messages of a chat. H3415: an item is not a message of texts.
Result<OrderedJson> response_messages(const OrderedJson& body);

std::string whole_response(const ResponseAsked& a, const TextAnswer& answer);
void stream_response(const std::shared_ptr<WebReply>& reply,
                     const std::shared_ptr<ResponseAsked>& asked, TextQuery query);

}  // namespace hone
