#include "base/store/credentials/aws.h"

#include <pugixml.hpp>

#include "base/core/clock.h"
#include "base/core/json.h"
#include "base/core/text.h"
#include "base/store/credentials/crypto.h"
#include "base/store/credentials/whole_answer.h"
#include "base/store/errors.h"
#include "base/store/store.h"

namespace hone {
namespace {

std::string environment_or(const char* name, const std::string& otherwise) {
  const std::string value = environment(name);
  return value.empty() ? otherwise : value;
}

Error no_keys(const std::string& source, const std::string& why) {
  return Error(err::kCredentials, fmt::format("the AWS credentials cannot be used: {}", why))
      .at(source)
      .todo("check them with 'aws sts get-caller-identity'");
}

// {"AccessKeyId", "SecretAccessKey", "Token", "Expiration"}, as containers and machines answer.
Result<AwsKeys> keys_in(const HttpResponse& r, const std::string& source) {
  const Result<Json> j = parse_json(r.body, "the answer");
  if (r.status != 200 || !j.ok() || !j->is_object())
    return no_keys(source, fmt::format("the server answered with status {}", r.status));
  AwsKeys keys{j->value("AccessKeyId", ""), j->value("SecretAccessKey", ""), j->value("Token", ""),
               parse_utc(j->value("Expiration", "")), source};
  if (keys.id.empty() || keys.secret.empty()) return no_keys(source, "the answer has no keys");
  if (keys.end == 0) keys.end = 1e18;
  return keys;
}

}  // namespace

AwsCredentials::AwsCredentials(HttpClient::Options http) : options_(http) {
  profile_ = environment_or("AWS_PROFILE", environment_or("AWS_DEFAULT_PROFILE", "default"));
  const std::string folder = environment("HOME") + "/.aws/";
  secrets_path_ = environment_or("AWS_SHARED_CREDENTIALS_FILE", folder + "credentials");
  if (const auto text = read_file(secrets_path_); text.ok()) secrets_ = profile_of(*text, profile_);
  if (const auto text = read_file(environment_or("AWS_CONFIG_FILE", folder + "config")); text.ok())
    config_ = profile_of(*text, profile_);
}

std::string AwsCredentials::profile_value(const std::string& key) const {
  for (const Profile* p : {&secrets_, &config_})
    if (const auto it = p->find(key); it != p->end()) return it->second;
  return "";
}

std::string AwsCredentials::region() const {
  return environment_or("AWS_REGION",
                        environment_or("AWS_DEFAULT_REGION", profile_value("region")));
}
std::string AwsCredentials::endpoint() const {
  return environment_or("AWS_ENDPOINT_URL_S3",
                        environment_or("AWS_ENDPOINT_URL", profile_value("endpoint_url")));
}

Result<AwsKeys> AwsCredentials::keys(bool renew) {
  constexpr double kEarly = 300, kPause = 10;
  std::lock_guard lock(mutex_);
  const double now = options_.clock->wall_seconds();
  const double due = std::max(keys_.end - kEarly, asked_ + kPause);
  if (found_ && !renew && now < std::min(due, keys_.end)) return keys_;
  Result<AwsKeys> fresh = find();
  asked_ = options_.clock->wall_seconds();
  const bool had = !keys_.id.empty();
  if (fresh.ok() && (!had || !fresh->id.empty())) {
    keys_ = std::move(*fresh);
    found_ = true;
    return keys_;
  }
  // A server that gave keys before and fails now must not make the requests anonymous.
  if (had && !renew && now < keys_.end) return keys_;
  if (!fresh.ok()) return std::move(fresh.error());
  return no_keys(keys_.source, "they were refused or have ended, and no others are given");
}

Result<AwsKeys> AwsCredentials::find() {
  AwsKeys keys{environment("AWS_ACCESS_KEY_ID"), environment("AWS_SECRET_ACCESS_KEY"),
               environment("AWS_SESSION_TOKEN"), 1e18, "AWS_ACCESS_KEY_ID"};
  if (!keys.id.empty() && !keys.secret.empty()) return keys;
  keys = {profile_value("aws_access_key_id"), profile_value("aws_secret_access_key"),
          profile_value("aws_session_token"), 1e18,
          fmt::format("profile {} of {}", profile_, secrets_path_)};
  if (!keys.id.empty() && !keys.secret.empty()) return keys;
  if (!environment("AWS_WEB_IDENTITY_TOKEN_FILE").empty()) return from_web_identity();
  if (!environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").empty() ||
      !environment("AWS_CONTAINER_CREDENTIALS_FULL_URI").empty())
    return from_container();
  if (to_lower(environment("AWS_EC2_METADATA_DISABLED")) == "true") return AwsKeys{};
  return from_machine();
}

// sts AssumeRoleWithWebIdentity: an unsigned request with a token of another identity provider.
Result<AwsKeys> AwsCredentials::from_web_identity() {
  const std::string path = environment("AWS_WEB_IDENTITY_TOKEN_FILE"),
                    where = "AWS_WEB_IDENTITY_TOKEN_FILE=" + path;
  const auto token = read_file(path);
  if (!token.ok()) return no_keys(where, "the file cannot be read");
  const std::string area = region();
  const std::string server = environment_or(
      "AWS_ENDPOINT_URL_STS", area.empty() ? "https://sts.amazonaws.com"
                                           : fmt::format("https://sts.{}.amazonaws.com", area));
  const std::string role = environment("AWS_ROLE_ARN");
  std::string body = "Action=AssumeRoleWithWebIdentity&Version=2011-06-15";
  body += "&RoleArn=" + url_encoded(role) +
          "&RoleSessionName=" + url_encoded(environment_or("AWS_ROLE_SESSION_NAME", "hone")) +
          "&WebIdentityToken=" + url_encoded(trim(*token));
  HttpClient http(options_);
  const HttpResponse r =
      HONE_TRY(http.send({.method = "POST",
                          .url = server + "/",
                          .headers = {{"content-type", "application/x-www-form-urlencoded"}},
                          .body = std::as_bytes(std::span(body)),
                          .is_whole = is_whole_xml,
                          .name = "the token service of AWS"}));
  pugi::xml_document document;
  document.load_buffer(r.body.data(), r.body.size());
  const pugi::xml_node c =
      document.first_child().child("AssumeRoleWithWebIdentityResult").child("Credentials");
  AwsKeys keys{c.child_value("AccessKeyId"), c.child_value("SecretAccessKey"),
               c.child_value("SessionToken"), parse_utc(c.child_value("Expiration")), where};
  if (r.status != 200 || keys.id.empty())
    return no_keys(where, fmt::format("the role '{}' was not given (status {})", role, r.status));
  return keys;
}

Result<AwsKeys> AwsCredentials::from_container() {
  const std::string relative = environment("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
  const std::string url = relative.empty() ? environment("AWS_CONTAINER_CREDENTIALS_FULL_URI")
                                           : "http://169.254.170.2" + relative;
  std::string token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  if (const std::string path = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); !path.empty())
    token = trim(HONE_TRY(read_file(path)));
  HttpRequest request{.url = url, .name = "the container's credentials server"};
  if (!token.empty()) request.headers["authorization"] = token;
  HttpClient http(options_);
  return keys_in(HONE_TRY(send_for_json(http, request)), "AWS_CONTAINER_CREDENTIALS");
}

Result<AwsKeys> AwsCredentials::from_machine() {
  const std::string server =
      environment_or("AWS_EC2_METADATA_SERVICE_ENDPOINT", "http://169.254.169.254");
  const std::string roles = server + "/latest/meta-data/iam/security-credentials/";
  const std::string source = "the metadata server of this machine";
  // This may be a machine without a metadata server, unless an earlier search has found keys.
  constexpr int kRetries = 2;
  const bool known = !keys_.id.empty();
  HttpClient http({.connect_timeout_seconds = 1,
                   .stall_timeout_seconds = 5,
                   .retries = known ? kRetries : 0,
                   .first_wait_seconds = options_.first_wait_seconds,
                   .clock = options_.clock});
  auto token = http.send({.method = "PUT",
                          .url = server + "/latest/api/token",
                          .headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"},
                                      {"content-type", "text/plain"}},
                          .name = "the metadata server"});
  if (known && !token.ok()) return std::move(token.error());
  if (known && token->status != 200)
    return no_keys(source, fmt::format("the server answered with status {}", token->status));
  if (!token.ok() || token->status != 200) return AwsKeys{};  // not a machine of EC2
  http.set_retries(kRetries);
  HttpRequest request{.url = roles,
                      .headers = {{"x-aws-ec2-metadata-token", token->body}},
                      .name = "the metadata server"};
  const HttpResponse role = HONE_TRY(http.send(request));
  if (role.status >= 500)
    return no_keys(source, fmt::format("the server answered with status {}", role.status));
  if (role.status != 200 || trim(role.body).empty()) return AwsKeys{};  // it has no role
  request.url += std::string(trim(split(role.body, '\n')[0]));
  return keys_in(HONE_TRY(send_for_json(http, request)), source);
}

HttpHeaders sign_aws(const AwsRequest& request, const AwsKeys& keys, double wall_seconds) {
  const auto seconds = static_cast<std::time_t>(wall_seconds);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc);
  const std::string now = text, day = now.substr(0, 8);

  HttpHeaders added = {{"x-amz-date", now}, {"x-amz-content-sha256", request.payload}};
  if (!keys.session.empty()) added["x-amz-security-token"] = keys.session;
  HttpHeaders all = request.headers;
  all.insert(added.begin(), added.end());
  std::string lines, names, query;
  for (const auto& [name, value] : all) {
    lines += name + ":" + std::string(trim(value)) + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  auto sorted = request.query;
  std::sort(sorted.begin(), sorted.end());
  for (const auto& [name, value] : sorted) query += (query.empty() ? "" : "&") + name + "=" + value;

  const std::string canonical =
      join({request.method, request.path, query, lines, names, request.payload}, "\n");
  const std::string scope =
      fmt::format("{}/{}/{}/aws4_request", day, request.region, request.service);
  const std::string to_sign =
      join({"AWS4-HMAC-SHA256", now, scope, sha256_of_text(canonical)}, "\n");
  std::string key = "AWS4" + keys.secret;
  for (const std::string& part :
       {day, request.region, request.service, std::string("aws4_request")})
    key = hmac_sha256(key, part);
  added["authorization"] =
      fmt::format("AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={}", keys.id,
                  scope, names, hex_of(hmac_sha256(key, to_sign)));
  return added;
}

}  // namespace hone
