# `nix run github:restante/restante -- serve`: builds the program from this checkout, with its manual pages and
# completions. Cargo.toml needs a recent compiler, which only the unstable channel has.
{
  description = "Temporary inboxes for automated end-to-end tests";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      cargo = builtins.fromTOML (builtins.readFile ./Cargo.toml);
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      package = pkgs: pkgs.rustPlatform.buildRustPackage {
        pname = "restante";
        version = cargo.workspace.package.version;
        src = self;
        cargoLock.lockFile = ./Cargo.lock;
        cargoBuildFlags = [ "--package" "restante" "--bin" "restante" ];
        # The tests need PostgreSQL, browsers and mail programs.
        doCheck = false;
        nativeBuildInputs = [ pkgs.installShellFiles ];
        postInstall = ''
          bash packaging/manual "$out/bin/restante" manual
          installManPage manual/man/*.1
          installShellCompletion manual/completions/restante.bash manual/completions/restante.fish
          installShellCompletion --zsh manual/completions/_restante
        '';
        meta = {
          description = cargo.package.description;
          homepage = cargo.workspace.package.repository;
          license = with pkgs.lib.licenses; [ asl20 mit ];
          mainProgram = "restante";
        };
      };
    in
    {
      packages = nixpkgs.lib.genAttrs systems (system: {
        default = package nixpkgs.legacyPackages.${system};
      });
    };
}
