// Finds credentials for Google Cloud.
//
// The first of these sources that has credentials counts; the order is that of Google's own tools:
//   1. the access token in the variable CLOUDSDK_AUTH_ACCESS_TOKEN
//   2. the file that GOOGLE_APPLICATION_CREDENTIALS names
//   3. the file application_default_credentials.json in $CLOUDSDK_CONFIG, or ~/.config/gcloud
//   4. the metadata server of a Google machine (GCE_METADATA_HOST sets another address)
// A file may be that of a service account, of a user, or of workload identity (external_account with a file or a URL as
// its source, RFC 8693). Each kind of file may name a service account to impersonate.
#pragma once

#include <memory>
#include <string>

#include "base/store/credentials/bearer.h"
#include "base/store/http.h"

namespace hone {

class GoogleCredentials {
 public:
  // Finds the credentials. It is not an Error if there are none: public data can be read without them. Error H0119 if a
  // file of credentials cannot be used.
  static Result<std::unique_ptr<GoogleCredentials>> find(HttpClient::Options http = {});
  // An object without credentials, for test servers and CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true.
  static std::unique_ptr<GoogleCredentials> none();

  // The value for the header Authorization; "": there are no credentials. `refused` is the value that the server has
  // just refused, or "". Errors: those of BearerToken::get().
  Result<std::string> authorization(const std::string& refused = "");

  const std::string& source() const { return source_; }    // the file or server, for messages
  const std::string& project() const { return project_; }  // the Google project; "": unknown

 private:
  std::string source_ = "none", project_;
  std::unique_ptr<BearerToken> token_;
};

}  // namespace hone
