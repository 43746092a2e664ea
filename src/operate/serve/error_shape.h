// The body of an error: each API has its own form.
#pragma once

#include <string_view>

#include "base/core/error.h"
#include "operate/http/request.h"

namespace hone {

//   plain   {"error": "what"}: KServe v1 and v2, Triton, a custom container of Vertex AI
//   openai  {"error": {"message": "what", "type": "...", "param": null, "code": "..."}}
//   google  {"error": {"code": 404, "message": "what", "status": "NOT_FOUND"}}
enum class ErrorShape { plain, openai, google };

// The shape of a path's API. It is known for paths that no route takes too.
ErrorShape error_shape_of(std::string_view path);

struct WebFault {
  int status = 500;
  std::string message;
  std::string code = {};  // OpenAI's; "": the usual one of the status
  WebHeaders headers = {};
  std::string param = {};  // OpenAI's: the key of the body that is wrong; "": none
};
WebAnswer shaped_error(ErrorShape shape, const WebFault& fault);
// With status_of(), line_of() and headers_of() of the error.
WebAnswer shaped_error(ErrorShape shape, const Error& e);

}  // namespace hone
