import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class SimCLR(object):
    def __init__(self, *args, **kwargs):
        self.args = kwargs['args']
        self.model = kwargs['model']
        self.optimizer = kwargs['optimizer']
        self.scheduler = kwargs['scheduler']
        self.criterion = torch.nn.CrossEntropyLoss()

    def info_nce_loss(self, features):
        labels = torch.cat([torch.arange(self.args.batch_size) for i in range(self.args.n_views)], dim=0)
        labels = (labels.unsqueeze(0) == labels.unsqueeze(1)).float()
        features = F.normalize(features, dim=1)
        similarity_matrix = torch.matmul(features, features.T)

        # discard the main diagonal from both: labels and similarities matrix
        mask = torch.eye(labels.shape[0], dtype=torch.bool)
        labels = labels[~mask].view(labels.shape[0], -1)
        similarity_matrix = similarity_matrix[~mask].view(similarity_matrix.shape[0], -1)
        # select and combine multiple positives
        positives = similarity_matrix[labels.bool()].view(labels.shape[0], -1)
        # select only the negatives the negatives
        negatives = similarity_matrix[~labels.bool()].view(similarity_matrix.shape[0], -1)
        logits = torch.cat([positives, negatives], dim=1)
        labels = torch.zeros(logits.shape[0], dtype=torch.long)
        logits = logits / self.args.temperature
        return logits, labels

    def train(self, images):
        for step in range(self.args.steps):
            batch = images[torch.randperm(len(images))[:self.args.batch_size]]
            views = torch.cat([augment(batch) for _ in range(self.args.n_views)], dim=0)
            features = self.model(views)
            logits, labels = self.info_nce_loss(features)
            loss = self.criterion(logits, labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            if step >= 5:
                self.scheduler.step()
            top1 = accuracy(logits, labels, topk=(1, 5))
            print(f"loss {loss.item():.6f}\tTop1 {top1[0].item():.2f} Top5 {top1[1].item():.2f}")


def augment(x):
    x = torch.roll(x, shifts=(int(torch.randint(-1, 2, ())), int(torch.randint(-1, 2, ()))), dims=(2, 3))
    x = x * (0.8 + 0.4 * torch.rand(x.size(0), 1, 1, 1))
    hole = torch.ones_like(x)
    i = torch.randint(0, 6, (1,)).item()
    hole[:, :, i:i + 2, i:i + 2] = 0
    return (x * hole + 0.05 * torch.randn_like(x)).clamp_(0, 1)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk, batch_size = max(topk), target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / batch_size) for k in topk]


class Encoder(nn.Module):
    def __init__(self, out_dim=16):
        super().__init__()
        self.backbone = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveMaxPool2d(1), nn.Flatten())
        self.fc = nn.Linear(32, out_dim)
        dim_mlp = self.fc.in_features
        self.fc = nn.Sequential(nn.Linear(dim_mlp, dim_mlp), nn.ReLU(), self.fc)

    def forward(self, x):
        return self.fc(self.backbone(x))


class Args:
    batch_size, n_views, temperature, steps = 32, 2, 0.07, 15


torch.manual_seed(0)
images = torch.from_numpy(load_digits().images).float()[:, None] / 16.
model = Encoder()
optimizer = torch.optim.Adam(model.parameters(), 3e-3, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10, eta_min=0, last_epoch=-1)
SimCLR(model=model, optimizer=optimizer, scheduler=scheduler, args=Args).train(images)
