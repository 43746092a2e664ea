#include "base/store/credentials/bearer.h"

#include "base/core/json.h"
#include "base/store/credentials/whole_answer.h"
#include "base/store/errors.h"
#include "base/store/http.h"

namespace hone {

Result<std::string> BearerToken::get(const std::string& refused) {
  constexpr double kEarly = 240;
  std::lock_guard lock(mutex_);
  const bool bad = !refused.empty() && refused == value_;
  if (!value_.empty() && !bad && clock_.seconds() < end_) return value_;
  const Token token = HONE_TRY(fetch_());
  value_ = token.value;
  end_ = clock_.seconds() + std::max(token.seconds - kEarly, token.seconds / 2);
  return value_;
}

Result<std::string> BearerToken::header(std::string_view refused) {
  constexpr std::string_view kBearer = "Bearer ";
  if (refused.starts_with(kBearer)) refused.remove_prefix(kBearer.size());
  return std::string(kBearer) + HONE_TRY(get(std::string(refused)));
}

Result<BearerToken::Token> ask_for_token(HttpClient& http, const HttpRequest& request,
                                         const std::string& where) {
  return token_in(HONE_TRY(send_for_json(http, request)), where);
}

Result<BearerToken::Token> token_in(const HttpResponse& r, const std::string& where) {
  const Result<Json> parsed = parse_json(r.body, "the answer of the token server");
  const Json& j = parsed.ok() ? *parsed : Json();
  const auto text = [&](const char* key) {
    return j.is_object() && j.contains(key) && j[key].is_string() ? j[key].get<std::string>() : "";
  };
  BearerToken::Token token{text("access_token"), 0};
  if (r.status == 200 && !token.value.empty()) {
    // A number, or its text (Azure).
    if (const Json& s = j.value("expires_in", Json()); s.is_number())
      token.seconds = s.get<double>();
    else
      token.seconds = s.is_string() ? std::strtod(s.get<std::string>().c_str(), nullptr) : 0;
    if (token.seconds <= 0) token.seconds = 300;
    return token;
  }
  std::string why = text("error_description");
  if (why.empty()) why = text("error");
  return Error(err::kCredentials, fmt::format("no token was given (status {}{}{})", r.status,
                                              why.empty() ? "" : ": ", why.substr(0, 300)))
      .at(where)
      .todo("check that these credentials are still valid, and the clock of this machine");
}

std::string form_text(std::initializer_list<std::pair<std::string_view, std::string_view>> fields) {
  std::string text;
  for (const auto& [name, value] : fields)
    text += (text.empty() ? "" : "&") + url_encoded(name) + "=" + url_encoded(value);
  return text;
}

}  // namespace hone
