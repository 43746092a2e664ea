// The bodies of error answers. Each API has its own form.
#pragma once

#include <string_view>

#include "base/core/error.h"
#include "operate/http/request.h"

namespace hone {

//   plain   {"error": "what"}: KServe v1 and v2, Triton, a custom container of Vertex AI
//   openai  {"error": {"message": "what", "type": "...", "param": null, "code": "..."}}
//   google  {"error": {"code": 404, "message": "what", "status": "NOT_FOUND"}}
enum class ErrorShape { plain, openai, google };

// The shape for errors at this path, by its prefix; the path need not have a route.
ErrorShape error_shape_of(std::string_view path);

struct WebFault {
  int status = 500;
  std::string message;
  std::string code = {};  // the member "code" of OpenAI's form; "": the usual code for the status
  WebHeaders headers = {};
  // The member "param" of OpenAI's form: the wrong key of the body; "": null.
  std::string param = {};
};
WebAnswer shaped_error(ErrorShape shape, const WebFault& fault);
// The answer for an Error, with status_of(), line_of() and headers_of() (route.h).
WebAnswer shaped_error(ErrorShape shape, const Error& e);

}  // namespace hone
