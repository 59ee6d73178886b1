//! Next steps with fixed words: one row each, with who can take it.
//!
//! A row for `Anyone` or `Owner` names no flag, no command and nothing of the owner's machine, because every reader may
//! see it.

use serde::{Deserialize, Serialize};

use super::Taker;

// Stored with failures and warnings: a renamed variant keeps its first name in JSON.
macro_rules! advice {
    ($( $(#[$attribute:meta])* $variant:ident, $taker:ident: $words:literal; )*) => {
        /// A next step with the same words at every door.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[allow(rustdoc::broken_intra_doc_links, reason = "words may hold brackets, such as those of `[::1]`")]
        pub enum Advice {
            $( #[doc = concat!("To ", $words, ".")] $(#[$attribute])* $variant, )*
        }

        impl Advice {
            /// All rows, in the order of the table.
            pub const ALL: &[Self] = &[$( Self::$variant, )*];

            /// The step as an imperative without a period.
            pub const fn words(self) -> &'static str {
                match self { $( Self::$variant => $words, )* }
            }

            /// Who can do it.
            pub const fn taker(self) -> Taker {
                match self { $( Self::$variant => Taker::$taker, )* }
            }
        }
    };
}

advice! {
    // Question.
    ConvertWithIconv, Machine: "convert it, such as with `iconv -f latin1 -t utf-8 OLD > NEW`";
    SaveFileFirst, Machine: "save it as a file first, such as with `curl -LO`, and attach that";
    NameExistingFolder, Anyone: "name a folder that exists";
    StartLocalServer, Machine: "start that server, such as with `ollama serve`, or correct its base URL";
    ConvertToUtf8, Anyone: "convert the input to UTF-8 and send it again";
    ShortenPrompt, Anyone: "shorten the prompt";
    ShortenOptions, Anyone: "leave one of them out";
    Rephrase, Anyone: "rephrase the question";
    AskInOtherWords, Anyone: "find out what the answers lack before you use one, or ask in other words";
    AskAnotherModel, Anyone: "ask another model";
    ChooseAnotherInTime, Anyone: "choose another model before that day";
    AskAnotherProvider, Anyone: "ask a model of another provider";
    AskLargerContext, Anyone: "choose a model with a larger context";
    AskPaidModel, Anyone: "use a model that is not free";
    AskFewerModels, Anyone: "ask fewer or cheaper models";
    AskCheaperWriter, Anyone: "choose a cheaper synthesizer";
    AskForShorterAnswer, Anyone: "ask for a shorter answer";
    AskAgain, Anyone: "ask again";
    AskAgainWhereTooLittle, Anyone: "ask again if the text so far is not enough";
    AskSomethingFirst, Anyone: "ask something first";
    NamePanelOfItsSize, Anyone: "name between 1 and 64 models";
    WriteModel, Anyone: "write it as `vendor/model`, for example `~openai/gpt-sol-latest`";
    NamePersonaAtSeat, Anyone: "name the persona at a seat of the panel";
    RateSeats, Anyone: "write your own estimate behind each model, such as `@accuracy=0.85`";
    LeaveWeightsOut, Anyone: "leave `weights` out";
    WriteJsonPointer, Anyone: "write a JSON pointer such as `json:/answer/value`, a comma in it as `%2C`";
    GiveOwnIdempotencyKey, Anyone: "leave the idempotency key out, or give one of your own such as `ticket-4711`";
    GiveEachQuestionItsKey, Anyone: "give each question a key of its own";
    GiveAnotherIdempotencyKey, Anyone: "give it another idempotency key when that run is over";
    NameAnotherStrategy, Anyone: "name another strategy, such as `best-of-n`";
    NameModelsWithoutEffort, Anyone: "leave the effort out for them";
    AskThroughRouter, Anyone: "ask them through a router";
    LeaveModelsOut, Anyone: "leave them out";
    ReadProvidersTerms, Anyone: "read their providers' terms";
    WaitForFewer, Owner: "set `wait` to less, or to `all`";
    GiveWords, Anyone: "give a word with letters or digits";
    GiveMoreOfId, Anyone: "give more of the id";
    // Files of a question.
    AttachReadableKind, Anyone: "attach text, PNG, JPEG, GIF, WebP or PDF";
    AttachLess, Anyone: "attach less";
    AttachFewerFiles, Anyone: "name a smaller folder, or a pattern such as `src/**/*.rs`";
    CorrectPattern, Anyone: "name other files; those that are hidden or named in a `.gitignore` are left out";
    WriteFullPath, Anyone: "write the full path";
    NameAllowedFile, Anyone: "name a file in these folders that is not hidden, or put its text into the prompt";
    LeaveFileOut, Anyone: "leave the file out";
    NameReadableFile, Anyone: "name a file that you may read";
    NameFlow, Machine: "name another file, or a flow of `flow list`";
    WriteDataUrl, Anyone: "write it as `data:image/png;base64,...`";
    SendWholeBase64, Anyone: "send it whole, with the standard alphabet and padding, without white space";
    PutTextIntoPrompt, Anyone: "put the text into the prompt";
    TakeSecretsOut, Anyone: "remove the secrets, because they cannot be recalled once sent";
    // Answers.
    ReadReasons, Anyone: "read the reason of each model";
    ReadThatAnswer, Anyone: "read that answer before you rely on the result";
    ReadMisleadingAnswer, Anyone: "read that answer: it may have misled the synthesizer, or be the only right one";
    DoNotOpenLink, Anyone: "do not open the link unless you know the host";
    TakeHiddenTextOut, Anyone: "remove the hidden characters before you pass the text on";
    NothingIsMissing, Anyone: "nothing is missing; its answer was not needed";
    NothingIsLost, Anyone: "go on as usual: nothing is lost";
    LeaveItOut, Anyone: "leave it out";
    LowerMinShare, Anyone: "lower `min_share`";
    // Waiting.
    TryAgain, Anyone: "try again";
    ReloadPage, Anyone: "reload the page and send the form again";
    TryLater, Anyone: "try again later";
    TryInAMinute, Anyone: "try again in a minute";
    WaitForRunToEnd, Anyone: "try again when a run has ended";
    WaitForCallToEnd, Anyone: "try again when a call has ended";
    WaitForItsEnd, Anyone: "wait until it has ended";
    WaitAsAsked, Anyone: "wait as long as the message says";
    WaitRetryAfter, Anyone: "wait as long as `Retry-After` says";
    WaitForRequests, Anyone: "wait until the requests under way have ended";
    WaitForLimit, Anyone: "wait until the limit is renewed";
    WaitForModel, Anyone: "wait until the model is asked again";
    // Providers.
    CheckKey, Owner: "check that the key is current and belongs to this provider";
    CopyKeyAgain, Machine: "copy the key again, without line breaks";
    AddCredit, Owner: "add credit at the provider";
    RaiseKeyLimit, Owner: "raise the key's limit at the provider";
    SeeAccount, Owner: "look at the provider's account settings";
    ChangePrivacySettings, Owner: "change what the account's privacy and guardrail settings allow";
    ReadProvidersMessage, Anyone: "read the provider's message: an option may not suit this model";
    CheckNetwork, Owner: "check the network and the base URL";
    CheckClock, Owner: "check the clock and the base URL";
    CheckNetworkAndAddress, Owner: "check the network and the address";
    SetCertificates, Owner: "set `ca_file` to a file of certificates in PEM, or leave it out";
    NameTrustedCertificate, Owner: "name the certificate to trust in `ca_file`";
    CheckApi, Owner: "check that the base URL is that of an OpenAI-compatible API";
    UseRealAddress, Owner: "set the base URL to the address the provider really uses";
    UseHttps, Owner: "use https, or http only for 127.0.0.1, [::1] or localhost";
    UseOpenRouterPath, Owner: "let its base URL end in `/api/v1`, or take `zdr` and `data_collection` back";
    RaiseNamedSetting, Owner: "raise the setting that the message names";
    TryCheckCommand, Machine: "try the check command by hand";
    // The data folder and its database.
    CheckDataFolder, Machine: "check the free space and the permissions of the data folder";
    CheckFolderIsWritable, Machine: "check that the data folder is a folder you may write to";
    CheckDisk, Machine: "check the free space and the health of the disk of the data folder";
    AllowOpenFiles, Machine: "allow more open files, such as with `ulimit -n 1024` before the start";
    FreeSpace, Machine: "free some space on the disk of the data folder, then try again";
    FreeDatabase, Machine: "free the database or its disk";
    #[serde(rename = "mend_folder_permissions")]
    CorrectFolderPermissions, Machine: "correct the permissions of the data folder";
    #[serde(rename = "mend_permissions")]
    CorrectPermissions, Machine: "correct the permissions of the file and its folder";
    CloseOtherPrograms, Machine: "close other programs that have the run database open, then try again";
    EndOtherPrograms, Machine: "stop the servers and MCP clients that use it, then run the command again";
    RestoreOrMove, Machine: "make a copy of the data folder, then move the database away or restore it from a backup";
    RestoreBackup, Machine: "restore the database from a backup";
    RestoreAnotherBackup, Machine: "restore another backup";
    MoveDatabaseAway, Machine: "move the file away";
    MoveAway, Machine: "move it away";
    MoveOutOfTheWay, Machine: "move it out of the way";
    UseLocalDisk, Machine: "choose a data folder on a local disk";
    SetDataFolder, Machine: "choose another data folder with `PARALLEL_LLM_DATA_DIR`";
    UseNewerProgram, Machine: "use the newer program";
    NameEmptyDatabase, Machine: "name a database that nothing was written to";
    UseNewerSqlite, Machine: "build it with SQLite 3.51.3 or newer";
    RestartProgram, Machine: "end this program and start it again";
    RestoreFileFirst, Machine: "restore the file first if it is missing";
    NameBackup, CommandLine: "name a file that `store backup` made";
    NameNewFile, Machine: "name a new file: a backup is never written over";
    NameWritableFile, Machine: "name a file in a folder you may write";
    SayAgainAfterIt, Machine: "wait until it has ended, then run the command again";
    UseOneOfThem, Machine: "use one of them, or another data folder";
    NameAnotherToken, Machine: "choose another name: the runs of that token's holder are found by it";
    PurgeAgain, Machine: "correct its permissions and purge again";
    #[serde(rename = "mend_file_and_restart")]
    RepairFileAndRestart, Machine: "repair or remove the file, then restart the program";
    // Settings.
    CorrectValue, Machine: "correct the value at the place the message names";
    CorrectOrDefault, Machine: "correct the value, or leave it out to use the default";
    TakeOut, Machine: "take it out";
    TakeOutOrOwnFile, Machine: "take it out, or write it into your own file";
    Shorten, Machine: "shorten it";
    CloseQuote, Machine: "close the quote";
    QuoteOrShell, Machine: "quote it to use it literally, or run a shell: `sh -c '...'`";
    WritePersona, Machine: "write it as `[personas.NAME]` into the settings";
    RenamePreset, Machine: "rename the preset";
    RenameFile, Machine: "rename the file";
    NameOrTakeOut, Machine: "name at least one, or take it out";
    RenameStage, Machine: "rename the stage";
    GiveStageInputs, Machine: "give it `panel`, or in `from` the stages it reads";
    GiveStageMoreInputs, Machine: "name another stage in `from`, or give it a `panel` instead";
    GiveStagePanel, Machine: "choose another strategy, or give the stage a `panel`";
    SplitStage, Machine: "make two stages of it";
    ListAtTheEnd, Machine: "list answers in the last stage only";
    BreakCircle, Machine: "take one of these names out of its `from`";
    ReadStageOrTakeOut, Machine: "name it in the `from` of another stage, or take it out";
    RenamePersona, Machine: "rename the persona";
    RenameAlias, Machine: "rename the alias";
    LeadAliasToModel, Machine: "let it stand for a model";
    RenameProvider, Machine: "rename the provider";
    GivePersonaWords, Machine: "give it a `system` or a `stance`, or take it out";
    WriteWholePath, Machine: "write the whole path of the file";
    WritePathOrName, Machine: "write its whole path, or its name alone";
    WriteAddress, Machine: "write its address, such as `https://example.com/v1`";
    WriteNameNotKey, Machine: "write the name, not the key";
    KeyInAnotherVariable, Machine: "keep this provider's key in a variable of another name";
    KeyElsewhere, Machine: "take it out; a key belongs into the key file, `key_variable` or `key_command`";
    OtherFileNames, Machine: "choose another `answer_file_name`, or another `final_file_name`";
    #[serde(rename = "mend_file")]
    RepairFile, Machine: "repair the file";
    #[serde(rename = "mend_file_or_by_hand")]
    RepairFileOrByHand, Machine: "repair the file, or add the entry by hand";
    MoveFileSetKeysAgain, Machine: "move the file away and set the keys again";
    SetIssuerAudience, Machine: "set `issuer_audience` to the address at which clients reach this server";
    WriteIssuerExactly, Machine: "write `issuer` letter by letter as the issuer does";
    CheckIssuer, Owner: "check the setting `issuer`";
    CopyKeyAlone, Machine: "copy the key alone, as its provider shows it, without anything around it";
    TightenIt, Machine: "tighten it";
    // Code that imports the library.
    GiveKeyInCode, Machine: "give the builder a key for this provider";
    GiveAddressInCode, Machine: "give the builder a base URL for this provider";
    KeepRunsInFolder, Machine: "give the builder a folder to keep runs in";
    RaiseIt, Machine: "raise it";
    WriteThatFile, Machine: "write the file";
    NameKeyVariable, Machine: "name its variable with `key_variable`";
    GiveKeyAlone, Machine: "give only the key, and nothing else";
    GiveKeyInVariable, Machine: "give the key in a variable";
    // A server.
    CallByItsAddress, Anyone: "call the server by the address that it prints at its start";
    BreakLoop, Owner: "give the provider the address of another server";
    AllowHost, Owner: "add the name to `http_hosts`, the origin to `http_origins`";
    NewTokenOfIssuer, Anyone: "get a new token for this server from its issuer";
    CopyTokenAgain, Anyone: "copy the token again: it was mistyped or cut off";
    LeaveAuthorizationOut, Anyone: "leave `Authorization` out: this server wants no token";
    SendOneBearer, Anyone: "send `Authorization: Bearer TOKEN` once, and no other `Authorization`";
    UseNewestLink, Anyone: "open the newest sign-in link, which the server has printed";
    SeeServerLog, Owner: "see the server's log, which says why";
    SendFewerHeaders, Anyone: "send fewer or shorter headers";
    SendWholeObject, Anyone: "send one JSON object, whole and without a pause";
    SendJson, Anyone: "send `Content-Type: application/json`, not compressed";
    UsePost, Anyone: "use POST; sessions also take GET and DELETE";
    UseMethods, Anyone: "use GET, HEAD, POST or DELETE";
    UseAllowedMethod, Anyone: "use a method that the header `Allow` names";

    FetchRun, Anyone: "call get_run if it is the answer of a run, else ask again";
    BeginSession, Anyone: "begin a new session with `initialize`";
    ReadSpecification, Anyone: "see the MCP specification on Streamable HTTP";
    MakeTwoCalls, Anyone: "make two calls of it";
    WaitFirst, Anyone: "call get_run with \"wait_s\":50 first";
    SeeReportPart, Anyone: "see `part` `report` for what there is";
    LeaveFilesOut, Anyone: "leave `files` out, and fetch the parts of the run";
    AskOwnerThere, Anyone: "ask the owner of this server to do it on that machine";
    UseAnotherPort, Machine: "choose another port, or end the program that has this one";
    NamePemPair, Machine: "name a certificate and its key, each a file in PEM";
    TokenOfHigherLimit, Owner: "make a token with a higher daily limit";
    NameToken, Machine: "use lower-case letters, digits, `.`, `_` and `-`, beginning with a letter, such as `laptop-2`";
    // A program.
    ReportMessage, Anyone: "report it with the message";
    RunAgain, Machine: "run the command again";
    #[serde(rename = "mend_or_another")]
    TakeOwnEntryOut, Machine: "take the entry `parallel-llm` out by hand";
    TakeEntryOut, Machine: "take that entry out by hand or give it another name";
    StartReaderFirst, Machine: "start its reader first, or name a file";
    SetBoth, Machine: "set both, or neither";
    FreeOutput, Machine: "write the output to a place that is writable";
    PipeKeyIn, Machine: "pipe the key in";
    NameOfVariable, Machine: "give the name of a variable, never its value";
    NameFileAfterAt, Machine: "name a readable file after `@`; a text that begins with `@` is taken from stdin";
}
