#include "base/store/credentials/google.h"

#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/credentials/crypto.h"
#include "base/store/credentials/whole_answer.h"
#include "base/store/errors.h"
#include "base/store/server_clock.h"
#include "base/store/store.h"

namespace hone {
namespace {

constexpr const char* kScope = "https://www.googleapis.com/auth/cloud-platform";
constexpr const char* kTokenServer = "https://oauth2.googleapis.com/token";
const HttpHeaders kForm = {{"content-type", "application/x-www-form-urlencoded"}};

std::string field(const Json& j, const char* key) {
  const auto it = j.is_object() ? j.find(key) : j.end();
  return it != j.end() && it->is_string() ? it->get<std::string>() : "";
}

// Asks token servers, one request at a time under BearerToken's lock.
struct Asker {
  std::shared_ptr<HttpClient> http;
  std::string where;
  std::shared_ptr<ServerClock> clock = std::make_shared<ServerClock>();

  Result<HttpResponse> post(const std::string& url, const std::string& text) const {
    const HttpRequest request{.method = "POST",
                              .url = url,
                              .headers = kForm,
                              .body = std::as_bytes(std::span(text)),
                              .name = "the token server"};
    return send_for_json(*http, request);
  }
  Result<BearerToken::Token> form(const std::string& url, const std::string& text) const {
    return token_in(HONE_TRY(post(url, text)), where);
  }
};

Error unusable(const std::string& where, std::string_view why) {
  return Error(err::kCredentials, fmt::format("Google's credentials cannot be used: {}", why))
      .at(where)
      .todo(
          "make them again, with 'gcloud auth application-default login' or as the key of a "
          "service account");
}

// RFC 7523: a claim that the account's key signs.
Result<BearerToken::Token> service_account_token(const Asker& ask, const Json& file) {
  std::string server = field(file, "token_uri");
  if (server.empty()) server = kTokenServer;
  for (bool again = false;; again = true) {
    const double signed_s = ask.clock->wall_seconds();
    const auto now = static_cast<int64_t>(signed_s);
    const Json header{{"typ", "JWT"}, {"alg", "RS256"}, {"kid", field(file, "private_key_id")}};
    const Json claims{{"iss", field(file, "client_email")},
                      {"aud", kTokenServer},
                      {"scope", kScope},
                      {"iat", now},
                      {"exp", now + 3600}};
    const std::string text = base64_url(header.dump()) + "." + base64_url(claims.dump());
    const std::string signature = HONE_TRY(sign_rs256(field(file, "private_key"), text, ask.where));
    const HttpResponse r = HONE_TRY(
        ask.post(server, form_text({{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
                                    {"assertion", text + "." + base64_url(signature)}})));
    if (r.status != 400 || again || !ask.clock->corrected_by(r, signed_s))
      return token_in(r, ask.where);
  }
}

Result<BearerToken::Token> user_token(const Asker& ask, const Json& file) {
  std::string server = field(file, "token_uri");
  if (server.empty()) server = kTokenServer;
  return ask.form(server, form_text({{"grant_type", "refresh_token"},
                                     {"client_id", field(file, "client_id")},
                                     {"client_secret", field(file, "client_secret")},
                                     {"refresh_token", field(file, "refresh_token")}}));
}

// The token of another identity provider, which Google's token service takes.
Result<std::string> subject_token(const Asker& ask, const Json& source) {
  std::string text;
  if (const std::string path = field(source, "file"); !path.empty()) {
    text = HONE_TRY(read_file(path));
  } else if (const std::string url = field(source, "url"); !url.empty()) {
    HttpRequest request{.url = url, .name = "the server of credential_source"};
    if (source.contains("headers") && source["headers"].is_object())
      for (const auto& [name, value] : source["headers"].items())
        if (value.is_string()) request.headers[name] = value.get<std::string>();
    const HttpResponse r = HONE_TRY(ask.http->send(request));
    if (r.status != 200)
      return unusable(ask.where, fmt::format("credential_source answered {}", r.status));
    text = r.body;
  } else {
    return unusable(ask.where, "credential_source names neither a file nor a url");
  }
  const Json format = source.value("format", Json::object());
  if (field(format, "type") != "json") return std::string(trim(text));
  const Json j = HONE_TRY(parse_json(text, "the token of credential_source"));
  return field(j, field(format, "subject_token_field_name").c_str());
}

Result<BearerToken::Token> exchanged_token(const Asker& ask, const Json& file) {
  const std::string subject =
      HONE_TRY(subject_token(ask, file.value("credential_source", Json::object())));
  return ask.form(
      field(file, "token_url"),
      form_text({{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                 {"audience", field(file, "audience")},
                 {"scope", kScope},
                 {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                 {"subject_token_type", field(file, "subject_token_type")},
                 {"subject_token", subject}}));
}

// A service account's token for somebody who may have it (iamcredentials generateAccessToken).
Result<BearerToken::Token> impersonated(const Asker& ask, const std::string& url,
                                        const std::string& own_token) {
  const std::string body = Json{{"scope", {kScope}}, {"lifetime", "3600s"}}.dump();
  const HttpRequest request{
      .method = "POST",
      .url = url,
      .headers = {{"content-type", "application/json"}, {"authorization", "Bearer " + own_token}},
      .body = std::as_bytes(std::span(body)),
      .name = "the server that impersonates"};
  const HttpResponse r = HONE_TRY(send_for_json(*ask.http, request));
  const Result<Json> j = parse_json(r.body, "the answer of the token server");
  if (r.status != 200 || !j.ok() || field(*j, "accessToken").empty())
    return unusable(ask.where, fmt::format("impersonation was refused (status {})", r.status));
  return BearerToken::Token{field(*j, "accessToken"), 3600};
}

Result<BearerToken::Fetch> fetch_of(const Asker& ask, const Json& file) {
  const std::string type = field(file, "type");
  BearerToken::Fetch own;
  if (type == "service_account") {
    if (field(file, "private_key").empty() || field(file, "client_email").empty())
      return unusable(ask.where, "the service account has no private_key or client_email");
    own = [=] { return service_account_token(ask, file); };
  } else if (type == "authorized_user") {
    own = [=] { return user_token(ask, file); };
  } else if (type == "external_account") {
    if (field(file, "token_url").empty()) return unusable(ask.where, "there is no token_url");
    own = [=] { return exchanged_token(ask, file); };
  } else if (type == "impersonated_service_account" && file.contains("source_credentials")) {
    own = HONE_TRY(fetch_of(ask, file["source_credentials"]));
  } else {
    return unusable(ask.where, fmt::format("hone does not know the type '{}'", type));
  }
  const std::string url = field(file, "service_account_impersonation_url");
  if (url.empty()) return own;
  return BearerToken::Fetch([=]() -> Result<BearerToken::Token> {
    return impersonated(ask, url, HONE_TRY(own()).value);
  });
}

// The metadata server of Google's machines: http, one address for all of them.
std::string metadata_server() {
  const std::string named = environment("GCE_METADATA_HOST");
  return "http://" + (named.empty() ? "169.254.169.254" : named);
}

Result<std::string> metadata(HttpClient& http, const std::string& path) {
  const HttpRequest request{.url = metadata_server() + path,
                            .headers = {{"metadata-flavor", "Google"}},
                            .name = "the metadata server"};
  const HttpResponse r = HONE_TRY(http.send(request));
  if (r.status != 200 || r.header("metadata-flavor") != "Google") return std::string();
  return r.body;
}

bool on_google_machine() {
  if (environment("NO_GCE_CHECK") == "true") return false;
  HttpClient http({.connect_timeout_seconds = 1, .retries = 0});
  const HttpRequest ping{.url = metadata_server() + "/",
                         .headers = {{"metadata-flavor", "Google"}},
                         .name = "the metadata server"};
  const Result<HttpResponse> r = http.send(ping);
  return r.ok() && r->header("metadata-flavor") == "Google";
}

}  // namespace

std::unique_ptr<GoogleCredentials> GoogleCredentials::none() {
  auto none = std::make_unique<GoogleCredentials>();
  none->project_ = environment("GOOGLE_CLOUD_PROJECT");
  if (none->project_.empty()) none->project_ = environment("CLOUDSDK_CORE_PROJECT");
  return none;
}

Result<std::unique_ptr<GoogleCredentials>> GoogleCredentials::find(HttpClient::Options options) {
  auto found = none();
  if (environment("CLOUDSDK_AUTH_DISABLE_CREDENTIALS") == "true") return found;
  if (const std::string token = environment("CLOUDSDK_AUTH_ACCESS_TOKEN"); !token.empty()) {
    found->source_ = "CLOUDSDK_AUTH_ACCESS_TOKEN";
    found->token_ = std::make_unique<BearerToken>([token]() -> Result<BearerToken::Token> {
      return BearerToken::Token{token, 1e9};
    });
    return found;
  }
  const auto http = std::make_shared<HttpClient>(options);
  std::string path = environment("GOOGLE_APPLICATION_CREDENTIALS");
  const bool named = !path.empty();
  if (!named) {
    const std::string config = environment("CLOUDSDK_CONFIG");
    path = (config.empty() ? environment("HOME") + "/.config/gcloud" : config) +
           "/application_default_credentials.json";
  }
  if (named || HONE_TRY(file_store().exists(path))) {
    const Result<Json> file = read_json_file(path);  // its message would quote the file
    const std::string where = named ? fmt::format("GOOGLE_APPLICATION_CREDENTIALS={}", path) : path;
    if (!file.ok()) return unusable(where, "the file cannot be read as JSON");
    found->source_ = where;
    found->token_ = std::make_unique<BearerToken>(HONE_TRY(fetch_of({http, where}, *file)));
    if (found->project_.empty()) found->project_ = field(*file, "project_id");
    if (found->project_.empty()) found->project_ = field(*file, "quota_project_id");
    return found;
  }
  if (!on_google_machine()) return found;
  found->source_ = "the metadata server of this machine";
  found->token_ = std::make_unique<BearerToken>([http, where = found->source_] {
    const HttpRequest request{
        .url = metadata_server() + "/computeMetadata/v1/instance/service-accounts/default/token",
        .headers = {{"metadata-flavor", "Google"}},
        .name = where};
    return ask_for_token(*http, request, where);
  });
  if (found->project_.empty())
    found->project_ = HONE_TRY(metadata(*http, "/computeMetadata/v1/project/project-id"));
  return found;
}

Result<std::string> GoogleCredentials::authorization(const std::string& refused) {
  if (!token_) return std::string();
  return token_->header(refused);
}

}  // namespace hone
