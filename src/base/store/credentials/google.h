// Google's credentials, found in the order of its own tools: the access token in
// CLOUDSDK_AUTH_ACCESS_TOKEN; the file in GOOGLE_APPLICATION_CREDENTIALS;
// $CLOUDSDK_CONFIG/application_default_credentials.json (~/.config/gcloud); the metadata server of
// a Google machine (GCE_METADATA_HOST names another). A file belongs to a service account, a user,
// workload identity (external_account with a file or a URL as its source, RFC 8693), or one of them
// that impersonates a service account.
#pragma once

#include <memory>
#include <string>

#include "base/store/credentials/bearer.h"
#include "base/store/http.h"

namespace hone {

class GoogleCredentials {
 public:
  // Errors H0119: an unusable file. Missing credentials are not an Error: public data can be read
  // without.
  static Result<std::unique_ptr<GoogleCredentials>> find(HttpClient::Options http = {});
  // No credentials, for test servers and CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true.
  static std::unique_ptr<GoogleCredentials> none();

  // The value of the header Authorization; "": no credentials. `refused`: see BearerToken::get.
  Result<std::string> authorization(const std::string& refused = "");

  const std::string& source() const { return source_; }    // for messages: a file, a server
  const std::string& project() const { return project_; }  // "": unknown

 private:
  std::string source_ = "none", project_;
  std::unique_ptr<BearerToken> token_;
};

}  // namespace hone
