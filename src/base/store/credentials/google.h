// Google's credentials, found as its own tools find them.
//
// In this order: the access token in CLOUDSDK_AUTH_ACCESS_TOKEN; the file that
// GOOGLE_APPLICATION_CREDENTIALS names; $CLOUDSDK_CONFIG/application_default_credentials.json
// (~/.config/gcloud); the metadata server of a Google machine (GCE_METADATA_HOST names another). A file
// is of a service account, of a user, of workload identity (external_account with a file or a URL as
// its source, RFC 8693), or of one of them that impersonates a service account.
#pragma once

#include <memory>
#include <string>

#include "base/store/credentials/bearer.h"
#include "base/store/http.h"

namespace hone {

class GoogleCredentials {
 public:
  // Errors H0119: a file that cannot be used. No credentials at all is not an Error: what is public can
  // be read without.
  static Result<std::unique_ptr<GoogleCredentials>> find(HttpClient::Options http = {});
  // Requests to a server for tests have none. CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true.
  static std::unique_ptr<GoogleCredentials> none();

  // The value of the header Authorization, "" without credentials. `refused` as BearerToken::get.
  Result<std::string> authorization(const std::string& refused = "");

  const std::string& source() const { return source_; }    // for messages: a file, a server
  const std::string& project() const { return project_; }  // "" when it is not known

 private:
  std::string source_ = "none", project_;
  std::unique_ptr<BearerToken> token_;
};

}  // namespace hone
