// Makes error answers. Each API has its own form of the body.
#pragma once

#include <string_view>

#include "base/core/error.h"
#include "operate/http/request.h"

namespace hone {

//   plain   {"error": "what"}: KServe v1 and v2, Triton, a custom container of Vertex AI
//   openai  {"error": {"message": "what", "type": "...", "param": null, "code": "..."}}
//   google  {"error": {"code": 404, "message": "what", "status": "NOT_FOUND"}}
enum class ErrorShape { plain, openai, google };

// The shape of errors at this path. It depends only on the path's text; the path need not have a route.
ErrorShape error_shape_of(std::string_view path);

struct WebFault {
  int status = 500;
  std::string message;
  // The member "code" of OpenAI's form; "": OpenAI's code for the status (401 and 404), null for other statuses.
  std::string code = {};
  WebHeaders headers = {};
  // The member "param" of OpenAI's form: the key of the request's body that is wrong; "": null.
  std::string param = {};
};
WebAnswer shaped_error(ErrorShape shape, const WebFault& fault);
// The answer for an Error. Status, message and headers are from status_of(), line_of() and headers_of() (route.h).
WebAnswer shaped_error(ErrorShape shape, const Error& e);

}  // namespace hone
